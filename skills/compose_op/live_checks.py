"""The verdict on what the subject process saw of a working op."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from skills.compose_op.mapping import DEVICE, config_fields
from skills.compose_op.source_checks import PARALLEL
from skills.compose_op.verdict import judged, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skills.compose_op.schema import ComposeOpIn
    from skills.report import Criterion

REL_TOLERANCE = 1e-9
"""Two ways to add the same floats."""
METRICS = ("time", "FLOPs", "bytes")

Matrix = list[list[float]]


def live_criteria(request: ComposeOpIn, facts: dict[str, Any], columns: list[str]) -> list[Criterion]:
    """Everything that only a running op shows.

    Args:
        request: The claim, its mappings in full.
        facts: The subject's `examine`.
        columns: Batch columns that the declared slot inputs read.
    """
    faults = [f"{slot}: {text}" for slot, seen in facts["helpers"].items() for text in seen["faults"]]
    slots = ", ".join(f"{slot}_config" for slot in facts["helpers"])
    leaves = ", ".join(f"{name} ({kind})" for name, kind in facts["leaves"])
    return [
        judged("config-expansion", faults, f"{slots}: same answer twice, every mapped field followed"),
        judged("fields", _fields(request, facts, columns), f"{len(facts['config_fields'])} fields"),
        judged("INV-3.5-3", facts["exposed"], "no annotation or attribute names a kernel's Input"),
        judged("leaves", _leaves(request, facts), leaves),
        judged("INV-1", _inv_1(facts), _counts(facts)),
        judged("INV-2", _inv_2(request, facts), "each slot equals its kernel asked directly"),
        _aggregate(request, facts),
    ]


def parallel_fields(facts: dict[str, Any]) -> list[str]:
    """Config fields, as the class has them at run time, that name a parallel layout (INV-4.5)."""
    return [f"Config.{name}" for name in facts["config_fields"] if PARALLEL.search(name)]


def _fields(request: ComposeOpIn, facts: dict[str, Any], columns: list[str]) -> Iterator[str]:
    found = facts["config_fields"]
    if DEVICE not in found:
        yield f"Config has no {DEVICE}"
    if request.config_fields:
        for name in sorted(set(config_fields(request)) ^ set(found)):
            yield f"Config.{name}: " + ("not declared" if name in found else "declared, but not there")
    if request.input_fields and sorted(set(request.input_fields)) != columns:
        yield f"input fields are {', '.join(columns)}, declared {', '.join(sorted(set(request.input_fields)))}"


def _leaves(request: ComposeOpIn, facts: dict[str, Any]) -> Iterator[str]:
    wanted = [[f"{request.name}.{sub.slot}", sub.kind] for sub in request.sub_kernels]
    if facts["leaves"] != wanted:
        yield f"minted {_listed(facts['leaves'])}, declared {_listed(wanted)}"


def _inv_1(facts: dict[str, Any]) -> Iterator[str]:
    minted = len(facts["leaves"])
    grown = facts["grown_leaves"]
    if grown is not None and grown != minted:
        yield f"{minted} leaves, {grown} where the Config allows twice as much"
    for seen in facts["evals"]:
        if seen["leaves"] != minted:
            yield f"{seen['leaves']} leaves after eval of {_requests(seen)}, {minted} at compile"
        pushes = len(seen["pushes"])
        if pushes != minted and not seen["error"]:
            yield f"{pushes} pushes for {_requests(seen)}, {minted} leaves"


def _inv_2(request: ComposeOpIn, facts: dict[str, Any]) -> Iterator[str]:
    names = [name for name, _ in facts["leaves"]]
    for seen in facts["evals"]:
        if seen["error"]:
            yield f"eval of {_requests(seen)}: {seen['error']}"
            continue
        pushed = [push["name"] for push in seen["pushes"]]
        if pushed != names and len(pushed) == len(names):
            yield f"pushed {', '.join(pushed)}; minted {', '.join(names)}"
        yield from _wrong_slots(request, seen)


def _wrong_slots(request: ComposeOpIn, seen: dict[str, Any]) -> Iterator[str]:
    slots, expected = [sub.slot for sub in request.sub_kernels], seen["expected"]
    for index, push in enumerate(seen["pushes"][: len(slots)]):
        if close(push["values"], expected[index]):
            continue
        others = [slot for slot, each in zip(slots, expected, strict=True) if close(push["values"], each)]
        why = f"holds what {others[0]} costs" if others else _difference(push["values"], expected[index])
        yield f"slot {index} ({slots[index]}), {_requests(seen)}: {why}"


def _aggregate(request: ComposeOpIn, facts: dict[str, Any]) -> Criterion:
    """The tree's total against the plain sum of what was pushed, each as often as declared."""
    if "\nmax" in f"\n{facts['tree']}".replace(" ", "") and request.decisions.get("overlap") != "concurrent":
        text = "the tree holds a max: answer overlap=concurrent if those kernels do run at the same time"
        return said("aggregate", "needs_decision", text)
    faults, largest = [], 0.0
    overlapping = request.decisions.get("overlap") == "concurrent"
    for seen in facts["evals"]:
        if seen["total"] is None:
            faults.append(f"no total for {_requests(seen)}: {seen['error'] or 'pushes and tree differ'}")
            continue
        streamed = _streamed(request, seen)
        first = 1 if overlapping else 0  # only time may be less than the sum
        if not close(seen["total"][first:], streamed[first:]):
            faults.append(f"{_requests(seen)}: {_difference(seen['total'][first:], streamed[first:], first)}")
        largest = max(largest, *seen["total"][0])
    return judged("aggregate", faults, f"equal for every probe, up to {largest:.4g} ms (synthetic rows)")


def _streamed(request: ComposeOpIn, seen: dict[str, Any]) -> Matrix:
    launches = [sub.launches for sub in request.sub_kernels]
    launches += [1] * (len(seen["pushes"]) - len(launches))
    slots = [push["values"] for push in seen["pushes"]]
    return [
        [
            sum(times * slot[metric][column] for times, slot in zip(launches, slots, strict=False))
            for column in range(len(seen["requests"]))
        ]
        for metric in range(len(METRICS))
    ]


def close(one: Matrix, other: Matrix) -> bool:
    """Whether two tables of metrics are the same."""
    return len(one) == len(other) and all(
        len(left) == len(right)
        and all(math.isclose(a, b, rel_tol=REL_TOLERANCE) for a, b in zip(left, right, strict=True))
        for left, right in zip(one, other, strict=True)
    )


def _difference(one: Matrix, other: Matrix, first: int = 0) -> str:
    for name, left, right in zip(METRICS[first:], one, other, strict=False):
        if len(left) != len(right):
            return f"{name} of {len(left)} iterations instead of {len(right)}"
        for a, b in zip(left, right, strict=True):
            if not math.isclose(a, b, rel_tol=REL_TOLERANCE):
                return f"{name} {a:.6g}, expected {b:.6g}"
    return "no difference"


def _requests(seen: dict[str, Any]) -> str:
    numbers = ", ".join(map(str, seen["requests"]))
    return f"{numbers} request{'' if numbers == '1' else 's'}"


def _counts(facts: dict[str, Any]) -> str:
    seen = "; ".join(f"{_requests(each)}: {len(each['pushes'])} pushes" for each in facts["evals"])
    return f"{len(facts['leaves'])} leaves; {seen}"


def _listed(leaves: list[list[str]]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in leaves) or "none"
