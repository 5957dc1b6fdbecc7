"""R.3: what stands in the kernel's file, from facts that were measured in the subject's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import ServingSimError
from skills.wire_kernel import snapshot
from skills.wire_kernel.handoff import difference
from skills.wire_kernel.rules import MAX_FEASIBLE
from skills.wire_kernel.shape import over_ceiling

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.subject import Subject
    from skills.wire_kernel.agreed import Agreed
    from skills.wire_kernel.ledger import Ledger
    from skills.wire_kernel.schema import WireRequest

Facts = dict[str, Any]
SHOWN = 3


def load_kernel(request: WireRequest, ledger: Ledger, subject: Subject, desk: Desk) -> Facts | None:
    """The kernel's facts; None where the file does not give them, and the ledger says why."""
    path = snapshot.kernel_path(desk, request.kind)
    try:
        facts = subject.ask(
            "kernel", kind=request.kind, config=request.shape.config, backends=request.handoff.backends
        )
    except ServingSimError as error:
        if error.code == "E_CANCELLED":
            raise
        rule = "R.3-kind" if "named" in error.what else "R.3-file"
        ledger.note(rule, "fail", str(error).replace("\n", " "))
        return None
    if not facts["found"]:
        near = f"; {facts['near']!r} is another spelling" if facts["near"] else ""
        rule = "R.3-kind" if facts["near"] else "R.3-file"
        ledger.note(rule, "fail", f"no kernel is named {request.kind!r} ({path.name} is not there){near}")
        return None
    if facts["plain"]:
        ledger.note("R.3-file", "pass", f"servingsim/timing/kernels/{request.kind}.py defines KERNEL")
    else:
        ledger.note(
            "R.3-file", "fail", "the file subclasses or changes the shared KernelKind: escalate instead"
        )
    return facts


def check_standing(
    request: WireRequest,
    agreed: Agreed,
    cache: str,
    measured: Facts,
    facts: Facts,
    ledger: Ledger,
    desk: Desk,
) -> None:
    """All of R.3 that needs no test run."""
    table = request.shape.profile_kind or request.kind
    ledger.judge(
        "R.3-kind",
        [] if (facts["kind"], facts["table"]) == (request.kind, table) else
        [f"kind {facts['kind']} reads {facts['table']}, agreed {request.kind} reading {table}"],
        f"{request.kind}, table {table}",
    )  # fmt: skip
    _scope(request, ledger, desk)
    _fields(request, agreed, cache, facts, ledger)
    _ceiling(facts, ledger)
    if "points" not in facts:
        return
    _payload(facts, measured, request, ledger)
    _dtype(facts, measured, request, ledger)
    _split(facts, ledger)
    _mask(facts, agreed, request, ledger)
    _inverse(facts, agreed, ledger)
    _work(facts, ledger)


def _scope(request: WireRequest, ledger: Ledger, desk: Desk) -> None:
    if not snapshot.taken(desk, request.kind):
        ledger.note("R.3-scope", "unverified", "no snapshot of the hand-off: call mode check_handoff first")
        return
    changed = snapshot.changed(desk, request.kind)
    bad = [
        name for name in changed
        if name.startswith(("servingsim/timing/", "profiling/"))
    ]  # fmt: skip
    others = [name for name in changed if name not in bad]
    ledger.judge(
        "R.3-scope", [f"changed: {', '.join(bad)}"] if bad else [], f"others: {', '.join(others) or 'none'}"
    )


def _fields(request: WireRequest, agreed: Agreed, cache: str, facts: Facts, ledger: Ledger) -> None:
    shape = request.shape
    pairs = {
        "Config fields": (sorted(facts["config_fields"]), sorted(shape.config_fields)),
        "Input fields": (sorted(facts["input_fields"]), sorted(shape.input_fields)),
        "axes": (facts["axes"], shape.axes),
        "cache": (facts["cache"], cache),
        "grid": (facts["grid"], [list(values) for values in agreed.values]),
        "re-axed": (facts["reaxed"], bool(shape.project)),
    }
    faults = [
        f"{what}: {_cut(there)}, agreed {_cut(said)}"
        for what, (there, said) in pairs.items()
        if there != said
    ]
    ledger.judge("R.3-fields", faults, f"{facts['cache']}, axes {', '.join(facts['axes'])}")


def _ceiling(facts: Facts, ledger: Ledger) -> None:
    sizes = " x ".join(f"{a} {len(v)}" for a, v in zip(facts["axes"], facts["grid"], strict=True))
    counts = {"the Config given": facts["feasible_count"], **facts.get("default_counts", {})}
    found = [
        f"{where}: {text}" for where, count in counts.items()
        if (text := over_ceiling(count, sizes, len(facts["axes"]), masked=facts["cells"] != count))
    ]  # fmt: skip
    ledger.judge("R.3-ceiling", found, f"{facts['feasible_count']} of {facts['cells']} cells ({sizes})")


def _payload(facts: Facts, measured: Facts, request: WireRequest, ledger: Ledger) -> None:
    faults, fields = difference(facts["args"], measured["fields"]), measured["fields"]
    for point in facts["points"]:
        payload = point["payload"]
        if payload is None:
            faults.append(f"{point['cell']}: {point['payload_error']}")
            continue
        swept = dict(zip(facts["axes"], point["cell"], strict=True))
        wanted = {name: swept.get(name, facts["config"].get(name)) for name in fields}
        if list(payload) != fields:
            faults += difference(list(payload), fields)
        elif payload != wanted:
            faults.append(f"{point['cell']}: {payload}, the Config and the cell say {wanted}")
        elif point["feasible"] and point["refused"].startswith("the profiler's args"):
            faults.append(f"{point['cell']}: {point['refused']}")
    keys = {tuple(sorted(each)) for each in facts["emitted"]}
    if keys and keys != {tuple(sorted([*fields, "backend"]))}:
        faults.append(f"enumerate emits {min(keys)}")
    if {each.get("backend") for each in facts["emitted"]} - set(request.handoff.backends):
        faults.append("enumerate emits backends that were not handed over")
    unique = list(dict.fromkeys(faults))[:SHOWN]
    ledger.judge("R.3-payload", unique, f"{', '.join(fields)} and backend at {len(facts['points'])} cells")


def _dtype(facts: Facts, measured: Facts, request: WireRequest, ledger: Ledger) -> None:
    faults, tags = [], facts["dtype_tags"]
    if tags != measured["dtype_fields"]:
        faults.append(f"tags {tags or 'none'}, the profiler has {measured['dtype_fields'] or 'none'}")
    runners = [measured["backends"][name] for name in request.handoff.backends]
    for role, field in tags.items():
        dtype = facts["config"].get(field)
        if not any(dtype in runner[f"{role}_dtypes"] for runner in runners):
            faults.append(f"no backend runs {role} dtype {dtype}")
    ledger.judge("R.3-dtype", faults, f"{tags or 'agnostic'}")


def _split(facts: Facts, ledger: Ledger) -> None:
    faults = [
        f"with kind {one['kind']} (table {one['table']}) it asks for {one['union']} rows of one grid"
        for one in facts["siblings"] if one["union"] > MAX_FEASIBLE
    ]  # fmt: skip
    faults += [
        f"Config field {one['field']} selects parts of a grid of {one['union']} ({', '.join(one['values'][:4])})"
        for one in facts["selectors"] if one["union"] > MAX_FEASIBLE
    ]  # fmt: skip
    unknown = [one["kind"] for one in facts["siblings"] if one["unknown"]]
    if unknown and not faults:
        ledger.note(
            "R.3-split", "unverified", f"grids of {', '.join(unknown)} could not be asked at this Config"
        )
        return
    ledger.judge("R.3-split", faults, "no other kind or Config field holds more of this grid")


def _mask(facts: Facts, agreed: Agreed, request: WireRequest, ledger: Ledger) -> None:
    """A hidden cell needs a reason in code (args, Input or every backend refuse it) or a bound of the Config."""
    faults, unproven, hidden, upper = [], [], 0, None
    for point in facts["points"]:
        cell = tuple(point["cell"])
        reason = point["refused"] or point["input_error"]
        if point["feasible"]:
            if reason:
                faults.append(f"{list(cell)} is kept and cannot be measured: {reason}")
            elif not agreed.feasible(cell):
                faults.append(f"{list(cell)} is kept, the agreed mask hides it")
            continue
        hidden += 1
        if reason:
            continue
        if agreed.feasible(cell):
            faults.append(f"{list(cell)} is hidden and reachable: args, Input and backends take it")
        else:
            upper = agreed.upper() if upper is None else upper
            if not (upper and agreed.hidden_by_bound(cell)):
                unproven.append(list(cell))
    if faults or not unproven:
        ledger.judge("R.3-mask", faults[:SHOWN], f"{hidden} cells hidden, each for a reason")
        return
    answer = ledger.ask(
        "R.3-mask",
        "mask",
        f"The mask {request.shape.mask!r} hides {len(unproven)} cells, {unproven[:SHOWN]} first, that args, Input "
        f"and backends take and no Config bound cuts. Constraints: {request.handoff.constraints or 'none'}. "
        "Can no real shape reach them?",
        {
            "unreachable": "fewer rows; such a shape would be extrapolated",
            "reachable": "they are measured too",
        },
    )
    if answer is not None:
        ledger.note("R.3-mask", "pass" if answer == "unreachable" else "fail", f"decided: {answer}")


def _inverse(facts: Facts, agreed: Agreed, ledger: Ledger) -> None:
    faults = []
    for point in facts["points"]:
        if not point["feasible"]:
            continue
        cell, call, back = point["cell"], point["input"], point.get("projected")
        if call is None or back is None:
            faults.append(f"{cell}: {point['input_error'] or point.get('project_error')}")
            continue
        if len(back) != len(cell) or not np.allclose(back, cell, rtol=1e-9, atol=0):
            faults.append(f"project(invert({cell})) is {back}")
        swept = agreed.config | dict(zip(facts["axes"], cell, strict=True))
        wanted = {name: each.value(swept) for name, each in agreed.invert.items()}
        wanted |= {
            name: value for name, value in swept.items() if name in facts["axes"] and name not in wanted
        }
        off = [
            f"{name} {call[name]}, not {wanted[name]}"
            for name in call
            if name in wanted and call[name] != wanted[name]
        ]
        faults += [f"invert({cell}): {', '.join(off)}"] if off else []
    ledger.judge("R.3-inverse", faults[:SHOWN], f"at {facts['feasible_count']} coordinates")


def _work(facts: Facts, ledger: Ledger) -> None:
    faults = []
    for point in facts["points"]:
        mine, theirs = point.get("work"), point.get("measured_work")
        if point["feasible"] and (mine is None or theirs is None or not np.allclose(mine, theirs, rtol=1e-9)):
            faults.append(f"{point['cell']}: {mine}, the profiler {theirs}")
    ledger.judge("R.3-work", faults[:SHOWN], "FLOPs, bytes read and bytes written at every coordinate")


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
