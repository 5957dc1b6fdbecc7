"""What a reader of a capture's figures has to know about the file, in sentences with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.captures.broken import FAULTS
from profiling.captures.capture import OUTSIDE, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.captures.launches import Launches
    from profiling.captures.sink import ColumnSink
    from profiling.captures.steps import Assigned


def findings(sink: ColumnSink, launches: Launches, assigned: Assigned, slight: int) -> list[Finding]:
    """All of them.

    Args:
        sink: What was read.
        launches: Judged.
        assigned: To steps.
        slight: Launches that overlap the next of their stream a little.
    """
    return [
        *_broken(launches),
        *_steps(sink, launches, assigned),
        *_file(sink),
        *(Finding("damaged", what, count) for what, count in sorted(sink.damage.items())),
        *_slight(slight),
    ]


def _broken(launches: Launches) -> Iterator[Finding]:
    for fault in range(1, len(FAULTS)):
        chosen = launches.broken == fault
        count = int(chosen.sum())
        if count:
            what = f"{count} launches have {FAULTS[fault]}: they stay in the sequence and are left out of every sum"
            yield Finding("broken_duration", what, count, int(launches.duration_ns[chosen].sum()))


def _steps(sink: ColumnSink, launches: Launches, assigned: Assigned) -> Iterator[Finding]:
    if len(launches) and not assigned.ranges:
        what = "no annotation of a step holds a launch: every launch is of an unknown phase"
        yield Finding("no_steps", what, len(launches))
    outside = launches.step == OUTSIDE
    if assigned.ranges and outside.any():
        sound = outside & (launches.broken == 0)
        count = int(outside.sum())
        what = f"{count} launches belong to no annotated step and stand under the phase unknown"
        yield Finding("outside_steps", what, count, int(launches.duration_ns[sound].sum()))
    if assigned.empty:
        yield Finding("empty_steps", f"{assigned.empty} annotated steps launched nothing", assigned.empty)
    if assigned.by_time:
        what = (
            f"{assigned.by_time} launches were given to steps by when they ran: the file does not say when the host "
            "launched them, and a device runs behind its host"
        )
        yield Finding("assigned_by_time", what, assigned.by_time)
    unsaid = sum(each.says.phase == "unknown" for each in assigned.ranges)
    if unsaid:
        yield Finding("unknown_phase", f"{unsaid} steps do not say their phase", unsaid)
    if sink.other_marks:
        what = f"{sink.other_marks} annotations name no step"
        yield Finding("other_annotations", what, sink.other_marks)


def _file(sink: ColumnSink) -> Iterator[Finding]:
    lost = _count(sink, "launches_without_kernel")
    if lost:
        what = f"{lost} launches of the host have no kernel in the file: the device's record is not whole"
        yield Finding("lost_launches", what, lost)
    captured = _count(sink, "graph_capture")
    if captured:
        what = f"graphs were captured {captured} times: what is launched into a capture does not run"
        yield Finding("graph_capture", what, captured)
    if "host_only" in sink.facts:
        what = "no device in the file: operations of the host stand for kernels, each with its own time"
        yield Finding("host_only", what, len(sink.columns["device"]))
    unnamed = sum(not sink.devices.get(index) for index in set(sink.columns["device"]))
    if unnamed:
        yield Finding("unnamed_devices", f"the file does not say what {unnamed} of its devices are", unnamed)


def _slight(slight: int) -> Iterator[Finding]:
    if slight:
        what = f"{slight} launches end shortly after the next of their stream began: both count whole"
        yield Finding("slight_overlap", what, slight)


def _count(sink: ColumnSink, name: str) -> int:
    value = sink.facts.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else 0
