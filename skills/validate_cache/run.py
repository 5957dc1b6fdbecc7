"""validate_cache: look at the fit, probe it, time the probes, conclude."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.subject import Subject
from skills.validate_cache import database, ledger, measured
from skills.validate_cache.asking import Asking
from skills.validate_cache.conclusions import OPTIONS
from skills.validate_cache.depth import depth_of
from skills.validate_cache.facts import Facts, Untouched
from skills.validate_cache.schema import FidelityReport
from skills.validate_cache.timed import Timed, probes_of

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk
    from skills.validate_cache.facts import CacheRequest
    from skills.watch import Watch

MODULE = "skills.validate_cache.subject"
SUBJECT_S = 120.0
"""For one question about a kind: the first compiles the caches."""


def run(request: CacheRequest, desk: Desk, watch: Watch) -> FidelityReport:
    """Validate a cache.

    Raises:
        ServingSimError: A kind, Config or Input that does not exist; no rows to fit (E_COVERAGE, with the command that
            measures them); a device that is not here (E_NO_GPU).
    """
    db = _database(request, desk)
    _check_answer(request)
    watch.progress(0, None, f"looking at the rows of {request.kind}")
    with Subject(desk, MODULE, timeout_s=SUBJECT_S) as subject:
        asking = Asking(subject, request, str(db))
        grid = asking.grid()
        commands = _filled(request, desk, watch, asking, grid, db)
        if commands:
            grid = asking.grid()
        before = database.look(db)
        fit = asking.fit()
        if request.compare_cache:
            asking.evaluate(fit["probes"][:1], request.compare_cache)  # refused before anything is measured
        watch.check()
        folder = ledger.folder(desk.state)
        stem = f"{request.kind}-{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(3)}"
        timed = (
            Timed(str(db), [], {})
            if request.truth == "holdout"
            else _timed(request, desk, watch, asking, grid, fit, folder / f"{stem}.db")
        )
        probes = probes_of(asking, fit, timed, request.compare_cache)
    after = database.look(db)
    csv_path = folder / f"{stem}.csv"
    return FidelityReport.of(
        Facts(
            request=request,
            config=grid["config"],
            device=grid["device"],
            table=grid["table"],
            cache=fit["cache"],
            quantised=fit["quantised"],
            axes=fit["axes"],
            unreachable=fit["unreachable"],
            grid_points=grid["points"],
            grid_missing=len(grid["missing"]),
            tables=fit["tables"],
            depth=depth_of(request.share).name,
            database=Untouched(
                path=str(db),
                before=before.sha256,
                after=after.sha256,
                note=database.difference(before, after),
            ),
            truth_db=timed.db,
            commands=[*commands, *timed.commands],
            csv_path=str(csv_path),
            csv_sha256=ledger.write(csv_path, probes, request.bar),
            probes=probes,
        )
    )


def _database(request: CacheRequest, desk: Desk) -> Path:
    if not request.db:
        return desk.db
    if request.fill:
        return desk.writable(request.db, what="db")
    return desk.readable(request.db, what="db")


def _check_answer(request: CacheRequest) -> None:
    answer = request.decisions.get("remedy")
    if answer is not None and answer not in OPTIONS:
        raise ServingSimError(
            f"{answer!r} is no remedy",
            known=", ".join(OPTIONS),
            hint="answer with one",
            path="decisions.remedy",
        )


def _where(grid: dict[str, Any]) -> list[str]:
    """Options that make a command run on the Config's device."""
    threads = ["--threads", str(grid["threads"])] if grid["threads"] else []
    return ["--device-type", grid["device_type"], *threads] if grid["device_type"] else threads


def _filled(
    request: CacheRequest, desk: Desk, watch: Watch, asking: Asking, grid: dict[str, Any], db: Path
) -> list[str]:
    """Measure missing grid rows where that is asked for; else only say how, and refuse where there are none."""
    if not grid["missing"]:
        return []
    candidates = [name for name in grid["runnable"] if name in (request.backends or grid["runnable"])]
    name = f"{request.kind}-grid.json"
    if request.fill and candidates:
        spec = measured.spec_file(ledger.folder(desk.state), name, grid["missing"])
        commands = []
        for backend in candidates:
            words = measured.command_for(
                grid["table"], backend, str(db), spec, where=_where(grid), depth=None, timeout_s=120
            )
            measured.run_profiling(desk, words, watch, timeout_s=max(600.0, 3 * len(grid["missing"])))
            commands.append(measured.shown(words))
        return commands
    if len(grid["missing"]) < grid["points"] or request.truth == "holdout":
        return []
    asking.fit_or_refuse(fillable=bool(candidates))
    return []


def _timed(
    request: CacheRequest,
    desk: Desk,
    watch: Watch,
    asking: Asking,
    grid: dict[str, Any],
    fit: dict[str, Any],
    scratch: Path,
) -> Timed:
    """Time every probe with every candidate that runs here, within the time allowed."""
    depth = depth_of(request.share)
    backends = [table["backend"] for table in fit["tables"] if table["backend"] in grid["runnable"]]
    if not backends:
        raise ServingSimError(
            f"nothing that has rows of {request.kind} on {grid['device']!r} runs here",
            code="E_NO_GPU",
            known=f"runnable here: {', '.join(grid['runnable']) or 'none'}",
            hint="truth: holdout takes the truths from the rows themselves",
            path="truth",
        )
    asking.scratch(grid["device"], str(scratch))
    left_s, commands = request.measure_s, []
    missing: dict[int, str] = {}
    expected = asking.evaluate(fit["probes"])
    for backend in backends:
        impossible = {int(at): why for at, why in fit["impossible"].get(backend, {}).items()}
        at_hand = []
        for at, answer in enumerate(expected):
            cost_s = measured.cost_s(answer["cache_ms"], depth)
            if at in impossible:
                missing.setdefault(at, f"{backend}: {impossible[at]}")
            elif cost_s > left_s:
                missing.setdefault(at, f"left out: {cost_s:.0f} s more than measure_s allows")
            else:
                left_s -= cost_s
                at_hand.append(fit["probes"][at]["args"])
        if at_hand:
            spec = measured.spec_file(scratch.parent, f"{scratch.stem}-{backend}.json", at_hand)
            words = measured.command_for(
                grid["table"],
                backend,
                str(scratch),
                spec,
                where=_where(grid),
                depth=depth,
                timeout_s=max(30.0, request.measure_s),
            )
            _timed_twice(desk, watch, words, request.measure_s)
            commands.append(measured.shown(words))
    return Timed(str(scratch), commands, missing)


def _timed_twice(desk: Desk, watch: Watch, words: list[str], measure_s: float) -> None:
    """Once, and what cannot be trusted once more."""
    limit_s = 60 + measured.LIMIT * measure_s
    report = measured.run_profiling(desk, words, watch, timeout_s=limit_s)
    if report["outliers"]:
        measured.run_profiling(desk, words, watch, timeout_s=limit_s)
