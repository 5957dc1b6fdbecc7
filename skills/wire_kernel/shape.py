"""R.2: the shape as it is proposed, before a line of it is written."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from profiling.discovery import PACKAGE_ROOT
from skills.wire_kernel.rules import MAX_FEASIBLE

if TYPE_CHECKING:
    from skills.subject import Subject
    from skills.wire_kernel.agreed import Agreed
    from skills.wire_kernel.ledger import Ledger
    from skills.wire_kernel.schema import WireRequest


def check_shape(
    request: WireRequest, agreed: Agreed, facts: dict[str, Any], ledger: Ledger, subject: Subject
) -> str:
    """All of R.2. Returns the name of the cache that was decided on."""
    _fields(request, ledger)
    _reaxis(request, ledger)
    cache = _cache(request, ledger)
    _ceiling(agreed, ledger)
    _profile_kind(request, facts, ledger, subject)
    _slot_input(request, ledger)
    return cache


def _fields(request: WireRequest, ledger: Ledger) -> None:
    shape, args = request.shape, request.handoff.args
    fixed = [name for name in args if name not in shape.axes]
    faults = [f"axis {name} is no args field" for name in shape.axes if name not in args]
    faults += [f"{name} is no axis and no Config field" for name in fixed if name not in shape.config_fields]
    faults += [f"Config has no field {name}" for name in shape.config if name not in _config_names(request)]
    faults += [f"the representative Config misses {name}" for name in fixed if name not in shape.config]
    for what, names in (("config", shape.config_fields), ("input", shape.input_fields), ("axes", shape.axes)):
        if len(set(names)) != len(names):
            faults.append(f"{what} names a field twice")
    ledger.judge(
        "R.2-fields",
        faults,
        f"Config {', '.join(shape.config_fields)}; Input {', '.join(shape.input_fields)}; "
        f"axes {', '.join(shape.axes)}",
    )


def _config_names(request: WireRequest) -> set[str]:
    return {*request.shape.config_fields, "gpu_name", "backends"}


def _reaxis(request: WireRequest, ledger: Ledger) -> None:
    shape = request.shape
    same = set(shape.axes) == set(shape.input_fields)
    if not shape.project and not shape.invert:
        faults = [] if same else [
            (f"Input fields {', '.join(shape.input_fields)} are not the axes {', '.join(shape.axes)}: declare "
             "project and invert")
        ]  # fmt: skip
        ledger.judge("R.2-reaxis", faults, "query fields are the axes")
        return
    faults = [f"no projection of {axis}" for axis in shape.axes if axis not in shape.project]
    faults += [f"{axis} is projected and no axis" for axis in shape.project if axis not in shape.axes]
    faults += [f"no inverse of {name}" for name in shape.input_fields if name not in shape.invert]
    faults += [
        f"{name} is inverted and no Input field" for name in shape.invert if name not in shape.input_fields
    ]
    ledger.judge("R.2-reaxis", faults, "; ".join(f"{axis} = {text}" for axis, text in shape.project.items()))


def _cache(request: WireRequest, ledger: Ledger) -> str:
    number, named = len(request.shape.axes), request.shape.cache
    limits = _cache_axes()
    fits = {name: most for name, (least, most) in limits.items() if least <= number <= most}
    if named in fits:
        ledger.note("R.2-cache", "pass", f"{named} reads {number} axes")
        return named
    if named in limits:
        ledger.note("R.2-cache", "fail", f"{named} does not read {number} axes; fitting: {', '.join(fits)}")
        return ""
    options = {name: f"built in, reads up to {most} axes" for name, most in fits.items()}
    why = f"There is no cache {named!r}; a new one is shared code." if named else "Several caches may fit."
    answer = ledger.ask("R.2-cache", "cache", f"{why} Which one for the axes {request.shape.axes}?", options)
    if answer is not None:
        ledger.note("R.2-cache", "pass", f"decided: {answer}")
    return answer or ""


def _cache_axes() -> dict[str, tuple[int, int]]:
    """Fewest and most axes of every cache that is built in; the workspace's are none."""
    folder = PACKAGE_ROOT / "servingsim" / "timing" / "caches"
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
        kind = importlib.import_module(f"servingsim.timing.caches.{path.stem}").CACHE
        found[path.stem] = (kind.min_axes, kind.max_axes)
    return found


def _ceiling(agreed: Agreed, ledger: Ledger) -> None:
    count = len(agreed.feasible_cells())
    if agreed.cells and not count:
        ledger.note(
            "R.2-ceiling", "fail", f"{agreed.cells} cells, of which none is feasible or too many to walk"
        )
        return
    sizes = " x ".join(
        f"{axis} {len(values)}" for axis, values in zip(agreed.axes, agreed.values, strict=True)
    )
    faults = [over_ceiling(count, sizes, len(agreed.axes), masked=agreed.mask is not None)]
    ledger.judge(
        "R.2-ceiling", [each for each in faults if each], f"{count} feasible of {agreed.cells} ({sizes})"
    )


def over_ceiling(count: int, sizes: str, axes: int, *, masked: bool) -> str:
    """Why so many coordinates are refused, with the likely cause; empty where they are not."""
    if count <= MAX_FEASIBLE:
        return ""
    if axes == 1:
        cause = "one axis is sampled far denser than its cache needs: one value an octave interpolates"
    elif masked:
        cause = "axes are crossed that do not affect time each by itself, or the mask keeps shapes that never occur"
    else:
        cause = "axes are crossed that do not affect time each by itself, and no mask drops what never occurs"
    return f"{count} feasible coordinates ({sizes}), the ceiling is {MAX_FEASIBLE}: {cause}"


def _profile_kind(request: WireRequest, facts: dict[str, Any], ledger: Ledger, subject: Subject) -> None:
    other = request.shape.profile_kind
    if not other:
        ledger.note("R.2-profile-kind", "pass", "its own table")
        return
    own = subject.ask("profiled", kind=request.kind)
    if own["found"]:
        ledger.note(
            "R.2-profile-kind", "fail", f"the profiler measures {request.kind} itself: read its own table"
        )
        return
    answer = ledger.ask(
        "R.2-profile-kind",
        "profile_kind",
        f"{request.kind} would read the rows of {other} (args {', '.join(facts['fields'])}). Is it the same "
        "semantic callable, with the same args meaning, dtype, layout and launch boundary?",
        {
            "identical": "no new measurements; wrong times where the callables differ in anything",
            "different": "a profiling kind of its own; costs a runner and its measurements",
        },
    )
    if answer == "identical":
        ledger.note(
            "R.2-profile-kind", "pass", f"decided: identical to {other}; args and work checked in R.3"
        )
    elif answer == "different":
        ledger.note(
            "R.2-profile-kind", "fail", f"decided: different from {other}; profile {request.kind} first"
        )


def _slot_input(request: WireRequest, ledger: Ledger) -> None:
    from servingsim.timing.slot_inputs import COUNT, SLOT_INPUTS  # noqa: PLC0415 - numpy

    axes, named = tuple(request.shape.axes), request.shape.slot_input
    fits = [one.name for one in SLOT_INPUTS if one.axes == axes or (one.axes == COUNT and len(axes) == 1)]
    if named and named in fits:
        ledger.note("R.2-slot-input", "pass", f"{named} gives {', '.join(axes)}")
        return
    if fits and not named:
        ledger.note("R.2-slot-input", "pass", f"any of {', '.join(fits)} fits; its consumer chooses")
        return
    known = ", ".join(f"{one.name} ({', '.join(one.axes)})" for one in SLOT_INPUTS)
    if fits:
        ledger.note(
            "R.2-slot-input", "fail", f"{named!r} gives no {', '.join(axes)}; fitting: {', '.join(fits)}"
        )
        return
    answer = ledger.ask(
        "R.2-slot-input",
        "slot_input",
        f"No member of the closed set gives the axes {', '.join(axes)} ({known}). What then?",
        {
            "not_reached": "the kernel reaches no cost-log leaf yet: it answers queries, no model can use it",
            "new_member": "a new slot input joins the shared set: a change outside the kernel's file, by hand",
        },
    )
    if answer == "not_reached":
        ledger.note("R.2-slot-input", "pass", "decided: reaches no leaf")
    elif answer == "new_member":
        ledger.note(
            "R.2-slot-input", "fail", "decided: add the member to servingsim/timing/slot_inputs.py first"
        )
