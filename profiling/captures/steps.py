"""Which step each launch belongs to: by the range of the host in which it was launched, else by when it ran."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from profiling.captures.capture import OUTSIDE
from profiling.captures.contract import UNKNOWN
from profiling.captures.step_names import step_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from profiling.captures.contract import Mark
    from profiling.captures.step_names import StepName


DEEPEST = 20
"""Ranges inside ranges that are looked into."""
K = TypeVar("K")


@dataclass(frozen=True)
class Range:
    """A step's annotation with what it says."""

    mark: Mark
    says: StepName


@dataclass(frozen=True)
class Assigned:
    """Launches given to steps.

    Attributes:
        ranges: Of the steps, in time; only those that hold a launch.
        step: Of each launch an index into them, OUTSIDE where none holds it.
        by_time: How many were given by when they ran, because the file does not say when they were launched.
        empty: Annotations that hold no launch.
    """

    ranges: list[Range]
    step: NDArray[np.int32]
    by_time: int
    empty: int


def assign(
    marks: Sequence[Mark],
    start_ns: NDArray[np.int64],
    launched_ns: NDArray[np.int64],
    process: NDArray[np.int64],
) -> Assigned:
    """Give every launch to the step that holds it.

    Args:
        marks: Annotations of steps, of hosts and of devices.
        start_ns: When each launch ran.
        launched_ns: When the host launched it, UNKNOWN where the file does not say.
        process: Of each launch, UNKNOWN where the file does not say.
    """
    known = launched_ns != UNKNOWN
    ranges = _chosen(marks, launched=bool(known.any()))
    on_host = bool(ranges) and ranges[0].mark.device == UNKNOWN
    times = np.where(known, launched_ns, start_ns) if on_host else start_ns
    step = np.full(len(start_ns), OUTSIDE, np.int32)
    for owner, places in _grouped(ranges, lambda each: each.mark.process).items():
        mine = np.ones(len(step), bool) if owner == UNKNOWN else (process == owner) | (process == UNKNOWN)
        if not mine.any():
            continue
        found = _holder([ranges[at].mark for at in places], times[mine])
        found = np.where(found >= 0, np.asarray(places, np.int32)[np.maximum(found, 0)], OUTSIDE)
        step[mine] = np.where(found != OUTSIDE, found, step[mine])
    used = np.unique(step[step != OUTSIDE])
    renumbered = np.full(len(ranges) + 1, OUTSIDE, np.int32)
    renumbered[used] = np.arange(len(used), dtype=np.int32)
    by_time = int(((step != OUTSIDE) & ~known).sum()) if on_host else 0
    return Assigned([ranges[at] for at in used], renumbered[step], by_time, len(ranges) - len(used))


def _chosen(marks: Sequence[Mark], *, launched: bool) -> list[Range]:
    """An engine's annotations before a profiler's, and the host's before the device's where launches say their time."""
    ranges = [
        Range(mark, says) for mark in marks if mark.end_ns > mark.start_ns and (says := step_name(mark.name))
    ]
    ranges = [each for each in ranges if each.says.engine] or ranges
    host = [each for each in ranges if each.mark.device == UNKNOWN]
    device = [each for each in ranges if each.mark.device != UNKNOWN]
    chosen = (host or device) if launched else (device or host)
    flat: list[Range] = []
    for places in _grouped(
        chosen, lambda each: (each.mark.process, each.mark.thread, each.mark.device)
    ).values():
        own = sorted((chosen[at] for at in places), key=lambda each: (each.mark.start_ns, -each.mark.end_ns))
        flat += _unnested(own, 0)
    return sorted(flat, key=lambda each: (each.mark.start_ns, each.mark.end_ns))


def _grouped(ranges: Sequence[Range], key: Callable[[Range], K]) -> dict[K, list[int]]:
    """Places of the ranges by a key."""
    groups: dict[K, list[int]] = {}
    for at, each in enumerate(ranges):
        groups.setdefault(key(each), []).append(at)
    return groups


def _unnested(ranges: list[Range], depth: int) -> list[Range]:
    """One range a step: a range around a single other one takes its facts, one around several gives way to them.

    Unless those are pieces of it: an engine that replays one iteration in several graphs marks each.
    """
    found: list[Range] = []
    at = 0
    while at < len(ranges):
        outer, end = ranges[at], at + 1
        while end < len(ranges) and ranges[end].mark.start_ns < outer.mark.end_ns:
            end += 1
        inner = _unnested(ranges[at + 1 : end], depth + 1) if depth < DEEPEST else []
        if len(inner) > 1 and not all(_is_piece(each, outer) for each in inner):
            found += inner
        else:
            found.append(_joined(outer, inner[0]) if inner else outer)
        at = end
    return found


def _is_piece(inner: Range, outer: Range) -> bool:
    """Whether both speak of the same requests in the same phase."""
    first, second = inner.says, outer.says
    return (
        second.phase != "unknown"
        and max(second.context_requests, second.generation_requests) > 0
        and (first.phase, first.context_requests, first.generation_requests)
        == (second.phase, second.context_requests, second.generation_requests)
    )


def _joined(outer: Range, inner: Range) -> Range:
    """The outer one's extent; what it does not say, the inner one says."""
    first, second = outer.says, inner.says
    if first.phase == "unknown":
        first, second = second, first
    pairs = {
        name: getattr(first, name) if getattr(first, name) != UNKNOWN else getattr(second, name)
        for name in ("tokens", "context_requests", "generation_requests")
    }
    named = inner if outer.says.phase == "unknown" and inner.says.phase != "unknown" else outer
    return Range(replace(outer.mark, name=named.mark.name), replace(first, **pairs))


def _holder(marks: list[Mark], times: NDArray[np.int64]) -> NDArray[np.int32]:
    """The latest range that has begun at each time and not ended; -1 where there is none."""
    starts = np.asarray([mark.start_ns for mark in marks], np.int64)
    ends = np.asarray([mark.end_ns for mark in marks], np.int64)
    at = np.searchsorted(starts, times, side="right") - 1
    found = np.full(len(times), OUTSIDE, np.int32)
    for _ in range(_depth(starts, ends)):
        open_ = (found == OUTSIDE) & (at >= 0)
        held = open_ & (times < ends[np.maximum(at, 0)])
        found[held] = at[held]
        at = at - 1
    return found


def _depth(starts: NDArray[np.int64], ends: NDArray[np.int64], most: int = 64) -> int:
    """How many ranges are open together at most: threads of one process overlap."""
    if not len(starts):
        return 0
    opened = np.arange(1, len(starts) + 1) - np.searchsorted(np.sort(ends), starts, side="right")
    return int(min(max(int(opened.max()), 1), most))
