"""Reading a result of `vllm bench serve`: what it says of the whole run, and of each request where it was recorded.

Units of the file: `duration`, `ttfts`, `itls` and `start_times` in seconds, what ends in `_ms` in milliseconds. A
request's latency is its TTFT and the gaps between its tokens. The client measures: TTFT counts from when it sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.truth.requests_bench_fields import LENGTHS, SENT, TIMES, BenchFile
from servingsim.sim.workload.formats.bench_serve import result_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from servingsim.sim.truth.requests_bench_fields import BenchRequests


@dataclass(frozen=True)
class BenchResult:
    """What a result file holds.

    Attributes:
        model: That was asked.
        completed: Requests that got an answer.
        failed: Those that did not.
        prompt_tokens: Of the answered, together.
        output_tokens: The same.
        figures: Its own figures by our names: `ttft_mean` ..., ms.
        output_tokens_per_s: Over the whole run.
        requests_per_s: The same.
        rate_per_s: Requests a second that were asked for; None: as fast as the client can.
        burstiness: Shape of the gaps' gamma distribution; 1: Poisson.
        max_concurrency: Requests under way at most; None: no limit.
        requests: One by one; None: lengths were not recorded.
        missing: Fields of `--save-detailed` that are not there.
    """

    model: str
    completed: int
    failed: int
    prompt_tokens: int
    output_tokens: int
    figures: Mapping[str, float]
    output_tokens_per_s: float | None
    requests_per_s: float | None
    rate_per_s: float | None
    burstiness: float
    max_concurrency: int | None
    requests: BenchRequests | None
    missing: tuple[str, ...]


def read_bench(path: Path) -> BenchResult:
    """Read a result file.

    Raises:
        ServingSimError: It is none, or a field is not what it has to be; with the field and its place in it.
    """
    file = BenchFile(path, result_object(path))
    missing = tuple(name for name in (*LENGTHS, *TIMES, SENT) if file.data.get(name) is None)
    requests = None if {*LENGTHS} & {*missing} else file.requests()
    totals = [file.whole(name) for name in ("completed", "total_input_tokens", "total_output_tokens")]
    rate = file.data.get("request_rate")
    return BenchResult(
        model=str(file.data.get("model_id", "")),
        completed=totals[0],
        failed=max(file.listed_requests() - totals[0], 0),
        prompt_tokens=totals[1],
        output_tokens=totals[2],
        figures=file.figures(),
        output_tokens_per_s=file.number("output_throughput"),
        requests_per_s=file.number("request_throughput"),
        rate_per_s=None if rate in ("inf", np.inf) else file.number("request_rate"),
        burstiness=file.number("burstiness") or 1.0,
        max_concurrency=file.whole("max_concurrency") if file.data.get("max_concurrency") else None,
        requests=requests,
        missing=missing,
    )
