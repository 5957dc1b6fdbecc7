"""From a spec to a workload, and what can be said of one before it is served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.workload.format import read_workload
from servingsim.sim.workload.synthetic import GAPS, arrivals_ms, drawn, stream, stretched, told

if TYPE_CHECKING:
    from servingsim.sim.workload.contract import Workload
    from servingsim.sim.workload.spec import WorkloadSpec
    from servingsim.timing.batch import IntArray


@dataclass(frozen=True)
class WorkloadSummary:
    """What a report says of its traffic. Lengths in tokens: mean, median, 99th percentile, longest.

    Attributes:
        requests: How many.
        span_s: From the first to the last arrival; None in a closed loop.
        rate_per_s: Mean arrivals a second over the span; None where there is none.
        prompt: Lengths of prompts.
        output: Lengths of outputs.
        repeated_share: Share of all prompt tokens whose key an earlier request had: what a cache without end would hit.
    """

    requests: int
    span_s: float | None
    rate_per_s: float | None
    prompt: tuple[float, float, float, int]
    output: tuple[float, float, float, int]
    repeated_share: float


def workload_of(spec: WorkloadSpec) -> Workload:
    """Read or draw the traffic.

    Raises:
        ServingSimError: The file cannot be read as any format, or holds what cannot be; all its requests arrive at once
            and are to be stretched.
    """
    if spec.path is None:
        return drawn(spec)
    return arranged(read_workload(Path(spec.path), name=spec.format, limit=spec.requests), spec)


def arranged(workload: Workload, spec: WorkloadSpec) -> Workload:
    """A file's requests with the arrivals that a spec asks for.

    Raises:
        ServingSimError: All arrive at once and are to be stretched.
    """
    if spec.arrivals.kind is not None:
        return replace(
            workload,
            arrival_ms=arrivals_ms(spec.arrivals, len(workload), stream(spec.seed, GAPS)),
            source=f"{workload.source}; arrivals drawn with seed {spec.seed}: {told(spec.arrivals)}",
        )
    return stretched(workload, spec.arrivals.rate_per_s) if spec.arrivals.rate_per_s else workload


def describe(workload: Workload) -> WorkloadSummary:
    """Counts, rate, lengths, and how much is shared."""
    last_ms = float(workload.arrival_ms[-1])
    closed = not np.isfinite(last_ms)
    # Arrivals within a microsecond are one burst.
    rate = None if closed or last_ms < 1e-3 else (len(workload) - 1) / (last_ms / 1e3)
    return WorkloadSummary(
        requests=len(workload),
        span_s=None if closed else last_ms / 1e3,
        rate_per_s=rate,
        prompt=_lengths(workload.prompt),
        output=_lengths(workload.output),
        repeated_share=_repeated(workload),
    )


def _lengths(values: IntArray) -> tuple[float, float, float, int]:
    return float(values.mean()), float(np.median(values)), float(np.quantile(values, 0.99)), int(values.max())


def _repeated(workload: Workload) -> float:
    count = int(workload.key_count.sum())
    if count == 0:
        return 0.0
    first = np.concatenate([[0], np.cumsum(workload.key_count)[:-1]])
    within = np.arange(count) - np.repeat(first, workload.key_count)
    keys = workload.keys[np.repeat(workload.key_start, workload.key_count) + within]
    tokens = np.minimum(
        workload.key_tokens,
        np.repeat(workload.prompt, workload.key_count) - within * workload.key_tokens,
    )
    _unique, first_seen = np.unique(keys, return_index=True)
    again = int(tokens.sum() - tokens[first_seen].sum())
    return again / int(workload.prompt.sum())
