"""Answers about a kind that may be an agent's own: `python -m skills.validate_cache.subject`, at arm's length.

Every cache value is `Kernel.eval`'s, every truth `perf_api`'s; nothing is interpolated here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling import perf_api
from profiling.limits import stored_device
from profiling.plan import Job, RunSettings, plan
from profiling.store import Store
from servingsim.timing import coverage
from servingsim.timing.remedy import no_rows
from skills.subject import serve
from skills.validate_cache.holdout import choose_held, folds, without
from skills.validate_cache.opened import fitted, opened, quantised, source_of
from skills.validate_cache.probing import choose, given

if TYPE_CHECKING:
    from servingsim.timing.engine import Kernel
    from servingsim.timing.source import FloatArray
    from skills.validate_cache.opened import Opened

Plain = dict[str, Any]


def grid(request: Plain) -> Plain:
    """What the kind's grid lacks in the database, and what could measure it here."""
    about = opened(request)
    points = about.kind.feasible_coordinates(about.config)
    return {
        "config": about.config.model_dump(mode="json"),
        "device": about.config.gpu_name,
        "device_type": about.here.type if about.here else "",
        "threads": about.here.threads if about.here else 0,
        "table": about.kind.table,
        "points": len(points),
        "missing": about.grid_without_rows(request["db"]),
        "runnable": about.runnable(),
    }


def fit(request: Plain) -> Plain:
    """What was fitted, and the probes.

    Raises:
        CoverageError: No row, with the command that measures the grid.
    """
    about, source = opened(request), source_of(request["db"])
    if not (about.config.backends or source.backends(about.kind.table, about.config.gpu_name)):
        raise no_rows(about.kind, about.config, source)
    kernel = about.kernel(source)
    direct = quantised(kernel)
    if request["truth"] == "holdout":
        probes = choose_held(about, kernel, source, most=request["most"], seed=request["seed"])
        unreachable = _too_short(kernel)
    else:
        found = (
            given(kernel, request["probes"])
            if request["probes"]
            else choose(kernel, most=request["most"], seed=request["seed"], quantised=direct)
        )
        probes, unreachable = found.probes, found.unreachable
    return {
        "cache": about.kind.cache,
        "quantised": direct,
        "axes": list(about.kind.axes),
        "unreachable": unreachable,
        "tables": [
            {
                "backend": table.backend,
                "rows": table.rows,
                "noise_cv": None if np.isnan(table.noise_median) else table.noise_median,
                "source": table.provenance.source,
            }
            for table in kernel.tables
        ],
        "probes": probes,
        "impossible": _impossible(about, [table.backend for table in kernel.tables], probes),
    }


def evaluate(request: Plain) -> Plain:
    """What the simulator answers at the probes' coordinates, with the kind's cache or another one."""
    about, source = opened(request), source_of(request["db"])
    kernel = about.kernel(source)
    coords = np.array([probe["coordinates"] for probe in request["probes"]], dtype=float)
    if not len(coords):
        return {"answers": []}
    cache = request.get("cache", "")
    answers: list[Plain] = [{} for _ in request["probes"]]
    fold_of = np.array([probe.get("fold", -1) for probe in request["probes"]])
    held = folds(kernel) if (fold_of >= 0).any() else []
    for fold in np.unique(fold_of):
        rows = source if fold < 0 else without(kernel, source, held[fold][1])
        at = np.flatnonzero(fold_of == fold)
        asked = about.kernel(rows, cache)
        for index, answer in zip(at, _answers(asked, coords[at]), strict=True):
            answers[index] = answer
    return {"answers": answers}


def truths(request: Plain) -> Plain:
    """Measured times of the probes' args by backend, with their spread; rows that cannot be trusted are named."""
    about, db = opened(request), request["truth_db"]
    specs = [probe["args"] for probe in request["probes"]]
    kind, device = about.kind.table, about.config.gpu_name
    if not specs or not Path(db).exists():
        return {"truths": [{} for _ in specs]}
    times: dict[str, list[float | None]] = getattr(perf_api, f"get_{kind}_times")(specs, device=device, db=db)
    with Store.open(db, read_only=True) as store:
        rows = store.rows(kind, device=device, args=dict(about.kind.fixed(about.config)))
    by_key = {(row["backend"], *(row[name] for name in about.kind.args)): row for row in rows}
    found: list[dict[str, Plain]] = [{} for _ in specs]
    for backend, each in times.items():
        for index, time_ms in enumerate(each):
            row = by_key.get((backend, *(specs[index][name] for name in about.kind.args)))
            if time_ms is not None and row is not None:
                found[index][backend] = {
                    "time_ms": time_ms,
                    "cv": row["cv"],
                    "outlier": row["outlier_reason"] if row["outlier"] else "",
                }
    return {"truths": found}


def scratch(request: Plain) -> Plain:
    """A new database that knows the device's limits, so that they are not measured again."""
    with (
        Store.open(request["db"], create=True, read_only=True) as store,
        Store.open(request["truth_db"], create=True) as new,
    ):
        known = stored_device(store, request["device"])
        new.ensure_created()
        if known is not None:
            new.put_device(known)
    return {}


def _answers(kernel: Kernel, coords: FloatArray) -> list[Plain]:
    """`Kernel.eval` at each coordinate that any backend's rows answer."""
    by_backend = kernel.times_by_backend(coords)
    answered = np.zeros(len(coords), dtype=bool)
    for times in by_backend.values():
        answered |= ~np.isnan(times)
    answers: list[Plain] = [{"cache_ms": None, "backend": "", "flags": []} for _ in coords]
    if answered.any():
        result = kernel.eval(coords[answered])
        for index, time_ms, flags, pick in zip(
            np.flatnonzero(answered), result.time_ms, result.flags, result.backend, strict=True
        ):
            answers[index] = {
                "cache_ms": float(time_ms),
                "backend": kernel.tables[pick].backend,
                "flags": coverage.names(int(flags)),
            }
    return answers


def _too_short(kernel: Kernel) -> Plain:
    """Sides that no row can be held out of: axes that the folds leave alone."""
    asked = {place for place, _ in folds(kernel)}
    points = fitted(kernel)
    return {
        f"{side}_{axis}": f"only {len(np.unique(points[:, column]))} values of {axis} have rows"
        for column, axis in enumerate(kernel.kind.axes)
        for side in ("below", "above")
        if f"{side}_{axis}" not in asked
    }


def _impossible(about: Opened, backends: list[str], probes: list[Plain]) -> dict[str, dict[str, str]]:
    """Probes that a backend cannot be timed at here, by their place, with the reason."""
    if about.here is None:
        return {}
    settings = RunSettings(threads=about.here.threads or None, device_type=about.here.type)
    found = {}
    for backend in [name for name in backends if name in about.runnable()]:
        specs = [probe["args"] for probe in probes]
        (planned,) = plan([Job(about.kind.table, backend, specs)], settings)
        keys = {tuple(shape.values()): planned.refused.get(at, "") for at, shape in enumerate(planned.shapes)}
        reasons = {str(at): keys.get(tuple(spec.values()), "") for at, spec in enumerate(specs)}
        found[backend] = {at: reason for at, reason in reasons.items() if reason}
    return found


OPERATIONS = {"grid": grid, "fit": fit, "evaluate": evaluate, "truths": truths, "scratch": scratch}

if __name__ == "__main__":
    serve(OPERATIONS)
