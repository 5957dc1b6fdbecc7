"""A measured run of requests, whatever file it is from: what is served again, and what the answer is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.sim.truth.requests import MeasuredRequests, read_requests
from servingsim.sim.truth.requests_compare import figures_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload


@dataclass(frozen=True)
class MeasuredRun:
    """A run.

    Attributes:
        name: Of the file.
        what: The kind of file, for people.
        workload: The same requests, to be simulated.
        requests: One by one; None: the file has only figures of the whole run.
        timed: Whether the arrivals are those of the run, so that curves over time can be set side by side.
        figures: Of the whole run, `ttft_mean` ..., ms.
        output_tokens_per_s: Over the whole run; None: not in the file.
        requests_per_s: The same.
        arrivals: How the requests come in the simulation.
        missing: What the file lacks and how to have it.
        notes: What else is to be known.
    """

    name: str
    what: str
    workload: Workload
    requests: MeasuredRequests | None
    timed: bool
    figures: Mapping[str, float]
    output_tokens_per_s: float | None
    requests_per_s: float | None
    arrivals: str
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def run_of_log(path: Path) -> MeasuredRun:
    """A log with a line a request.

    Raises:
        ServingSimError: As `read_requests`.
    """
    requests = read_requests(path, path.stem)
    span_s = float(requests.end_ms.max()) / 1e3
    return MeasuredRun(
        name=path.name,
        what="log of requests, times by the engine's own clock",
        workload=requests.workload(),
        requests=requests,
        timed=True,
        figures=figures_of(requests),
        output_tokens_per_s=float(requests.output.sum()) / span_s if span_s else None,
        requests_per_s=len(requests) / span_s if span_s else None,
        arrivals="as in the log",
    )
