"""R.1: what the profiling side says, against what was handed over."""

from __future__ import annotations

import difflib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skills.wire_kernel import child, known_devices
from skills.wire_kernel.schema import Command

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.subject import Subject
    from skills.watch import Watch
    from skills.wire_kernel.ledger import Ledger
    from skills.wire_kernel.schema import WireRequest

SMOKE_TIMEOUT_S = 240.0
EXIT_REFUSED = 2


def check_handoff(request: WireRequest, ledger: Ledger, subject: Subject) -> dict[str, Any]:
    """All of R.1 but the smoke run. Returns the profiling side's facts, of the table that is read."""
    table = request.shape.profile_kind or request.kind
    facts = subject.ask("profiled", kind=table)
    known: list[str] = facts["kinds"]
    if not facts["found"]:
        near = difflib.get_close_matches(table.lower(), known, n=1)
        hint = f", nearest is {near[0]!r}" if near else ""
        ledger.note(
            "R.1-name", "fail", f"the profiler has no kind {table!r}{hint}; it has {', '.join(known)}"
        )
        return facts
    ledger.judge(
        "R.1-name",
        [] if facts["facade"] else [f"perf_api has no get_{table}_times"],
        f"profiling/kernels/{table}.py, table {table}, perf_api.{facts['facade']}",
    )
    there = facts["backends"]
    ledger.judge(
        "R.1-registry",
        [f"no backend {each!r} of {table}; known: {', '.join(there) or 'none'}"
         for each in request.handoff.backends if each not in there],
        ", ".join(f"({table}, {each})" for each in request.handoff.backends),
    )  # fmt: skip
    _args(request, ledger, facts)
    _dtypes(request, ledger, facts)
    _sources(request, ledger)
    named = [*request.handoff.args, *request.shape.config_fields, *request.shape.input_fields]
    ledger.judge(
        "R.1-routing",
        ["backend is named as a field; it is emitted beside the args"] if "backend" in named else [],
        "backend is in no field",
    )
    return facts


def _args(request: WireRequest, ledger: Ledger, facts: dict[str, Any]) -> None:
    fields, given = facts["fields"], request.handoff.args
    faults = difference(given, fields)
    if request.handoff.family != facts["family"]:
        faults.append(f"family is {facts['family']}, not {request.handoff.family}")
    strange = sorted(set(request.handoff.smoke) ^ set(fields))
    if strange:
        faults.append(f"the smoke spec and the args differ in {', '.join(strange)}")
    ledger.judge("R.1-args", faults, f"{', '.join(fields)}; {facts['family']}")


def difference(given: list[str], fields: list[str]) -> list[str]:
    """How a list of fields differs from the profiler's, empty where it does not."""
    missing = [name for name in fields if name not in given]
    extra = [name for name in given if name not in fields]
    faults = [f"misses {', '.join(missing)}"] if missing else []
    faults += [f"adds {', '.join(extra)}"] if extra else []
    if not faults and given != fields:
        faults = [f"order is {', '.join(given)}, the profiler's is {', '.join(fields)}"]
    return faults


def _dtypes(request: WireRequest, ledger: Ledger, facts: dict[str, Any]) -> None:
    given, measured = request.handoff.dtype_fields, facts["dtype_fields"]
    faults = []
    if given != measured:
        faults.append(f"dtype fields are {measured or 'none'}, handed over {given or 'none'}")
    if not given and not request.handoff.dtype_agnostic:
        faults.append("no dtype field is named and the kernel is not called dtype_agnostic")
    if given and request.handoff.dtype_agnostic:
        faults.append("called dtype_agnostic, with dtype fields")
    runs = "; ".join(
        f"{name} runs {', '.join(of['compute_dtypes'])} on {', '.join(of['devices'])}"
        for name, of in facts["backends"].items()
    )
    ledger.judge("R.1-dtype", faults, f"{given or 'agnostic'}: {runs}")


def _sources(request: WireRequest, ledger: Ledger) -> None:
    shape, args = request.shape, request.handoff.args
    if not shape.config_fields and not shape.input_fields:
        ledger.note("R.1-sources", "unverified", "no shape is given: which args are Config, which Input?")
        return
    from_input = set(shape.input_fields) | set(shape.axes)
    both = [name for name in args if name in shape.config_fields and name in from_input]
    neither = [name for name in args if name not in shape.config_fields and name not in from_input]
    if not both and not neither:
        split = {name: "axis" if name in shape.axes else "Config" for name in args}
        ledger.note("R.1-sources", "pass", ", ".join(f"{name}: {where}" for name, where in split.items()))
        return
    why = [f"{', '.join(both)} in Config and Input"] if both else []
    why += [f"{', '.join(neither)} in neither"] if neither else []
    answer = ledger.ask(
        "R.1-sources",
        "split",
        f"The split is ambiguous: {'; '.join(why)}. Where do these args come from?",
        {
            "config": "static in a model: no axis, a row for each value; cheap, exact at that value only",
            "input": "changes with each iteration: an axis to measure along; costs its values times the others'",
        },
    )
    if answer is not None:
        ledger.note(
            "R.1-sources",
            "fail",
            f"{'; '.join(why)}: decided {answer}, so move them to shape.{answer}_fields",
        )


def check_smoke(
    request: WireRequest, ledger: Ledger, subject: Subject, facts: dict[str, Any], desk: Desk, watch: Watch
) -> None:
    """Measure the smoke spec with every backend that can run here, and read it through the facade."""
    table = request.shape.profile_kind or request.kind
    faults, seen, elsewhere = [], [], []
    for backend in request.handoff.backends:
        missing = facts["backends"][backend]["missing_modules"]
        if missing:
            elsewhere.append(f"{backend} needs {', '.join(missing)}, which this machine lacks")
            continue
        ran, times = _smoke(table, backend, request.handoff.smoke, desk, watch, subject)
        ledger.commands.append(Command(command=ran.shown, exit_code=ran.exit_code))
        if ran.exit_code == 0 and times and times[0]:
            seen.append(f"{backend}: {times[0]:.4g} ms, exit 0")
        elif ran.exit_code == EXIT_REFUSED and "E_NO_GPU" in ran.out + ran.err:
            elsewhere.append(f"{backend} has no device here")
        else:
            faults.append(f"{backend}: exit {ran.exit_code}, {ran.tail or 'no time was stored'}")
    if faults or not elsewhere:
        ledger.judge("R.1-smoke", faults, "; ".join(seen))
    else:
        ledger.note("R.1-smoke", "unverified", "; ".join([*seen, *elsewhere]))


def _smoke(
    table: str, backend: str, spec: dict[str, Any], desk: Desk, watch: Watch, subject: Subject
) -> tuple[child.Ran, list[float | None]]:
    with tempfile.TemporaryDirectory(prefix="servingsim-") as folder:
        db = str(Path(folder, "scratch.db"))
        quick = ["--budget", "0.05", "--min-samples", "3"]
        arguments = ["run", table, "--backend", backend, "--db", db, "--spec", json.dumps(spec), "--json"]
        known_devices.lend(desk, Path(db))
        ran = child.python("profiling", [*arguments, *quick], desk, watch, timeout_s=SMOKE_TIMEOUT_S)
        known_devices.keep(desk, Path(db))
        if ran.exit_code:
            return ran, []
        return ran, subject.ask("facade", kind=table, backend=backend, db=db, spec=spec)["times"]
