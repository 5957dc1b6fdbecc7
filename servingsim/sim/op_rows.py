"""From the slots' logs to the rows of a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.report import OpRow, RowSource
from servingsim.timing import coverage

if TYPE_CHECKING:
    from servingsim.ops.pricing import SlotLog
    from servingsim.timing.source import Provenance

ESTIMATE = "estimate"


def op_row(log: SlotLog, repetitions: float, kernels_ms: float) -> OpRow:
    """One slot of one iteration.

    Args:
        log: Where the slot's kernel was asked, and its answers.
        repetitions: How often the slot runs.
        kernels_ms: Time of the whole iteration, for the share.
    """
    weights = log.points.weights * repetitions
    work = log.kernel.work(log.points.coords)
    time_ms = float(weights @ log.answer.time_ms)
    flops, moved = (float(np.sum(weights * each)) for each in (work.flops, work.bytes_moved))
    limit_ms = _finite(float(weights @ log.kernel.roofline_ms(log.points.coords)))
    return OpRow(
        op=log.name,
        kind=log.kernel.kind.kind,
        launches=round(float(weights.sum())),
        time_ms=time_ms,
        error_percent=_percent(float(weights @ (log.answer.time_ms * log.answer.error)), time_ms),
        share=time_ms / kernels_ms if kernels_ms else 0.0,
        flops=flops,
        bytes_moved=moved,
        tflop_per_s=flops / time_ms * 1e-9 if time_ms else 0.0,
        gb_per_s=moved / time_ms * 1e-6 if time_ms else 0.0,
        limit_ms=limit_ms,
        efficiency=limit_ms / time_ms if limit_ms is not None and time_ms else None,
        coverage=coverage.names(int(np.bitwise_or.reduce(log.answer.flags, initial=0))),
        rows=_sources(log),
    )


def _sources(log: SlotLog) -> list[RowSource]:
    """The backends picked at the slot's points, each once."""
    picked = sorted({int(index) for index in log.answer.backend})
    return [_source(log, index) for index in picked]


def _source(log: SlotLog, index: int) -> RowSource:
    if index < 0:
        return _row_source(ESTIMATE, log.kernel.estimate, math.nan, 0)
    table = log.kernel.tables[index]
    return _row_source(table.backend, table.provenance, table.noise_median, table.untrusted)


def _row_source(backend: str, said: Provenance, noise: float, untrusted: int) -> RowSource:
    return RowSource(
        backend=backend,
        origin=said.origin,
        device=said.device,
        framework=said.framework,
        version=said.version,
        source=said.source,
        measured_at=said.measured_at,
        noise=_finite(noise),
        untrusted=untrusted,
    )


def _percent(error_ms: float, time_ms: float) -> float | None:
    return _finite(error_ms / time_ms * 100) if time_ms else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
