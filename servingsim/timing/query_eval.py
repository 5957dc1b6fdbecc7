"""Price given Inputs of one kernel kind, with everything that a reader needs to judge the figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing import coverage
from servingsim.timing.engine import Kernel

if TYPE_CHECKING:
    from servingsim.timing.query_form import EvalQuery
    from servingsim.timing.source import FloatArray, TimingSource


def evaluate(query: EvalQuery, source: TimingSource) -> dict[str, Any]:
    """Time, work, limit and coverage of each input, and the tables behind them.

    Returns:
        `tables` (backend, provenance, rows, noise) and `results` in the order of the inputs; times in ms,
        work in FLOP and bytes.

    Raises:
        ServingSimError: Unknown device; no rows (E_COVERAGE) where that is refused.
    """
    kernel = Kernel.build(query.kind.kind, query.kind, query.config, source, on_missing=query.on_missing)
    coords = np.array([kernel.project(item) for item in query.inputs], dtype=np.float64)
    columns = _columns(kernel, coords) | {"backend_times_ms": _per_backend(kernel, source, coords)}
    results = [
        {"input": item.model_dump(), "coordinates": dict(zip(query.kind.axes, point.tolist(), strict=True))}
        | {name: column[index] for name, column in columns.items()}
        for index, (item, point) in enumerate(zip(query.inputs, coords, strict=True))
    ]
    return {"config": query.config.model_dump(), "tables": _tables(kernel), "results": results}


def _columns(kernel: Kernel, coords: FloatArray) -> dict[str, list[Any]]:
    """One value for each point, as plain numbers."""
    answer, work = kernel.eval(coords), kernel.work(coords)
    backends = [table.backend for table in kernel.tables]
    return {
        "time_ms": answer.time_ms.tolist(),
        "limit_ms": kernel.limit_ms(coords).tolist(),
        "flops": _spread(work.flops, coords),
        "bytes": _spread(work.bytes_moved, coords),
        "coverage": [coverage.names(flags) for flags in answer.flags.tolist()],
        "backend": [backends[pick] if pick >= 0 else None for pick in answer.backend.tolist()],
    }


def _per_backend(kernel: Kernel, source: TimingSource, coords: FloatArray) -> list[dict[str, float]]:
    """Each backend's own time at each point: what the pick was made from."""
    times = {}
    for table in kernel.tables:
        alone = kernel.config.model_copy(update={"backends": (table.backend,)})
        times[table.backend] = Kernel.build(kernel.name, kernel.kind, alone, source).eval(coords).time_ms
    return [{name: float(column[index]) for name, column in times.items()} for index in range(len(coords))]


def _tables(kernel: Kernel) -> list[dict[str, Any]]:
    return [
        {
            "backend": table.backend,
            "rows": table.rows,
            # NaN where no row knows its spread, which JSON cannot hold.
            "noise_median": float(table.noise_median) if np.isfinite(table.noise_median) else None,
            "provenance": asdict(table.provenance),
        }
        for table in kernel.tables
    ]


def _spread(value: float | FloatArray, coords: FloatArray) -> list[float]:
    column: list[float] = np.broadcast_to(np.asarray(value, dtype=np.float64), (len(coords),)).tolist()
    return column
