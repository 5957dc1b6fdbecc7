"""A report held against what it was made from: its CSV, the plan of its probes, the rows, the measured truths.

Nothing is measured again: the simulator answers every probe anew, and each truth is looked up where it was put.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from servingsim.errors import ServingSimError
from skills.report import Criterion, Status
from skills.subject import Subject
from skills.validate_cache import database, ledger
from skills.validate_cache.asking import Asking
from skills.validate_cache.run import MODULE, SUBJECT_S
from skills.validate_cache.schema import FidelityReport
from skills.validate_cache.timed import Timed, probes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.desk import Desk
    from skills.validate_cache.probe import Probe
    from skills.watch import Watch

TOLERANCE = 1e-9
"""Between an answer then and now: the same rows and code give the same figure but for rounding."""


def recheck(report: FidelityReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """What a look at the report's own sources says of it."""
    criteria = [_figures(report), _csv(report, desk)]
    watch.check()
    criteria += _again(report, desk)
    return criteria


def _figures(report: FidelityReport) -> Criterion:
    """Every figure once more from the probes, as a report that was never validated would fail."""
    fault = ""
    try:
        FidelityReport.model_validate(report.model_dump(mode="json"))
    except ValidationError as error:
        fault = error.errors()[0]["msg"]
    return _criterion(
        "R.4-recheck-figures",
        "figures, criteria and verdict follow from the probes",
        fault,
        f"{len(report.probes)} probes, {len(report.regions)} regions computed again",
    )


def _csv(report: FidelityReport, desk: Desk) -> Criterion:
    """The file of the probes: there, unchanged, and the same as the report."""
    fault, evidence = "", ""
    try:
        path = desk.readable(report.csv_path, what="csv_path")
        probes, sha256 = ledger.read(path)
        evidence = f"{path}: {len(probes)} probes, sha256 {sha256[:12]}"
        if sha256 != report.csv_sha256:
            fault = f"sha256 of {path} is {sha256[:12]}, the report says {report.csv_sha256[:12]}"
        elif (other := _first_difference(report.probes, probes)) is not None:
            fault = f"report and CSV disagree: {other}"
    except ServingSimError as error:
        fault = error.what
    return _criterion(
        "R.4-recheck-csv", "the CSV is unchanged and says what the report says", fault, evidence
    )


def _again(report: FidelityReport, desk: Desk) -> list[Criterion]:
    """Plan, answers and truths from the rows as they are now."""
    request = report.request
    db = Path(report.database.path)
    allowed = desk.readable(request.db, what="db") if request.db else desk.db
    if db != allowed:
        fault = f"the report's database is {db}, the request's {allowed}"
        return [_criterion("R.4-recheck-cache", "the simulator gives the same answers", fault, "")]
    with Subject(desk, MODULE, timeout_s=SUBJECT_S) as subject:
        asking = Asking(subject, request, str(db))
        try:
            fit = asking.fit()
            fit["probes"] = _known_order(fit["probes"], report.probes)
            now = probes_of(asking, fit, Timed(_truth_db(report, desk), [], {}), request.compare_cache)
        except ServingSimError as error:
            return [_criterion("R.4-recheck-cache", "the simulator gives the same answers", str(error), "")]
    moved = database.look(db).sha256 != report.database.after
    return [_planned(report, now, moved=moved), _answers(report, now, moved=moved), _truths(report, now)]


def _truth_db(report: FidelityReport, desk: Desk) -> str:
    """Where the truths have to be: the fitted rows, or a database of this tool's in the workspace."""
    if report.request.truth == "holdout":
        return report.database.path
    path = desk.readable(report.truth_db, what="truth_db")
    if path.parent != ledger.folder(desk.state).resolve():
        raise ServingSimError(
            "the truths lie elsewhere than this tool puts them", code="E_PATH", path=str(path)
        )
    return str(path)


def _known_order(planned: list[dict[str, Any]], reported: Sequence[Probe]) -> list[dict[str, Any]]:
    """Planned probes in the report's order; those that it lacks last."""
    places = {_key(probe.args, probe.coordinates): at for at, probe in enumerate(reported)}
    return sorted(
        planned, key=lambda probe: places.get(_key(probe["args"], probe["coordinates"]), len(places))
    )


def _key(args: dict[str, Any], coordinates: list[float]) -> tuple[Any, ...]:
    return (*args.values(), *coordinates)


def _planned(report: FidelityReport, now: Sequence[Probe], *, moved: bool) -> Criterion:
    fault = ""
    reported = [(probe.region, probe.at) for probe in report.probes]
    wanted = [(probe.region, probe.at) for probe in now]
    if reported != wanted:
        absent = [f"{region} {at}" for region, at in wanted if (region, at) not in reported]
        added = [f"{region} {at}" for region, at in reported if (region, at) not in wanted]
        fault = f"left out: {absent[:3]}; not planned: {added[:3]}"
    return _criterion(
        "R.4-recheck-probes",
        "the probes are those that the request plans",
        fault,
        f"{len(wanted)} planned again with seed {report.request.seed}",
        "unverified" if moved else "fail",
        moved=moved,
    )


def _answers(report: FidelityReport, now: Sequence[Probe], *, moved: bool) -> Criterion:
    fault = next(
        (
            f"{was.at}: the report says {was.cache_ms} ms of {was.backend or 'none'}, the simulator "
            f"{again.cache_ms} ms of {again.backend or 'none'}"
            for was, again in zip(report.probes, now, strict=False)
            if was.at == again.at
            and not (
                was.backend == again.backend
                and _close(was.cache_ms, again.cache_ms)
                and _close(was.compare_ms, again.compare_ms)
            )
        ),
        "",
    )
    return _criterion(
        "R.4-recheck-cache",
        "the simulator gives the same answers",
        fault,
        f"{len(now)} probes asked again",
        "unverified" if moved else "fail",
        moved=moved,
    )


def _truths(report: FidelityReport, now: Sequence[Probe]) -> Criterion:
    fault = next(
        (
            f"{was.at}: the report says {was.truths}, {report.truth_db} {again.truths}"
            for was, again in zip(report.probes, now, strict=False)
            if was.at == again.at and was.truths != again.truths
        ),
        "",
    )
    return _criterion(
        "R.4-recheck-truths",
        "the truths are the rows that were measured",
        fault,
        f"{sum(bool(probe.truths) for probe in now)} truths looked up in {report.truth_db}",
    )


def _close(was: float | None, again: float | None) -> bool:
    if was is None or again is None:
        return was is again
    return math.isclose(was, again, rel_tol=TOLERANCE)


def _first_difference(reported: Sequence[Probe], written: Sequence[Probe]) -> str | None:
    if len(reported) != len(written):
        return f"{len(reported)} probes, {len(written)} lines"
    return next((probe.at for probe, line in zip(reported, written, strict=True) if probe != line), None)


def _criterion(
    name: str, text: str, fault: str, evidence: str, otherwise: Status = "fail", *, moved: bool = False
) -> Criterion:
    if fault and moved:
        fault = f"the rows have changed since: validate again; {fault}"
    return Criterion(id=name, text=text, status=otherwise if fault else "pass", evidence=fault or evidence)
