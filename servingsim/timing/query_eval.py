"""Price given Inputs of one kernel kind, with everything that a reader needs to judge the figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing import coverage
from servingsim.timing.engine import Kernel

if TYPE_CHECKING:
    from servingsim.timing.backend_table import BackendTable
    from servingsim.timing.query_form import EvalQuery
    from servingsim.timing.source import FloatArray, TimingSource


def evaluate(query: EvalQuery, source: TimingSource) -> dict[str, Any]:
    """Time, work, limit and coverage of each input, and the tables behind them.

    Returns:
        `tables` (backend, rows, noise, provenance, donors), `estimate` (the provenance of answers without a
        backend, null where there is none) and `results` in the order of the inputs; times in ms, work in FLOP
        and bytes.

    Raises:
        ServingSimError: Unknown device; no rows (E_COVERAGE) where that is refused.
    """
    kernel = Kernel.build(query.kind.kind, query.kind, query.config, source, on_missing=query.on_missing)
    coords = np.array([kernel.project(item) for item in query.inputs], dtype=np.float64)
    columns = _columns(kernel, coords)
    results = [
        {"input": item.model_dump(), "coordinates": dict(zip(query.kind.axes, point.tolist(), strict=True))}
        | {name: column[index] for name, column in columns.items()}
        for index, (item, point) in enumerate(zip(query.inputs, coords, strict=True))
    ]
    estimate = asdict(kernel.estimate) if None in columns["backend"] else None
    return {
        "config": query.config.model_dump(),
        "tables": [_description(table) for table in kernel.tables],
        "estimate": estimate,
        "results": results,
    }


def _columns(kernel: Kernel, coords: FloatArray) -> dict[str, list[Any]]:
    """One value for each point, as plain data."""
    answer, work = kernel.eval(coords), kernel.work(coords)
    backends = [table.backend for table in kernel.tables]
    each = {name: _numbers(times) for name, times in kernel.times_by_backend(coords).items()}
    return {
        "time_ms": answer.time_ms.tolist(),
        "error_percent": _numbers(100 * answer.error),
        "limit_ms": _numbers(kernel.limit_ms(coords)),
        "flops": _numbers(np.broadcast_to(work.flops, len(coords))),
        "bytes": _numbers(np.broadcast_to(work.bytes_moved, len(coords))),
        "coverage": [coverage.names(flags) for flags in answer.flags.tolist()],
        "backend": [backends[pick] if pick >= 0 else None for pick in answer.backend.tolist()],
        "backend_times_ms": [
            {name: times[index] for name, times in each.items()} for index in range(len(coords))
        ],
    }


def _description(table: BackendTable) -> dict[str, Any]:
    return {
        "backend": table.backend,
        "rows": table.rows,
        "untrusted_rows": table.untrusted,
        "noise_median": _numbers(np.array([table.noise_median]))[0],
        "provenance": asdict(table.provenance),
        "donors": list(table.donors),
    }


def _numbers(values: FloatArray) -> list[float | None]:
    """Plain numbers; null for NaN, which JSON cannot hold: an unknown spread, a limit or a time that nobody knows."""
    return [None if np.isnan(value) else value for value in values.tolist()]
