# ruff: noqa: S608 - names in the statement are identifiers that the file holds
"""When the host launched each kernel, and by which operation: the innermost range around the call that its correlation
names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.contract import UNKNOWN
from profiling.captures.nsys.ranges import HostOp, nvtx_table, operation, ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from profiling.captures.nsys.database import Export, Table
    from profiling.captures.nsys.ranges import Range

MOST_LAUNCHES = 5_000_000
"""Beyond it the host side is left out: 20 bytes a launch would not stay small."""
DEEPEST = 256
"""Ranges that are open at once: nesting of calls, not more."""
PROCESS_MASK = -(2**24)


@dataclass(frozen=True, slots=True)
class Call:
    """The host's side of a launch.

    Attributes:
        op: The operation, unnamed where no range names one.
        launched_ns: When, UNKNOWN where the file does not hold the call.
    """

    op: HostOp
    launched_ns: int


NO_CALL = Call(HostOp("", ""), UNKNOWN)


def calls_of(export: Export, launches: Table, *, with_ops: bool) -> Iterator[Call]:
    """The call of each launch, in the order of the table's rows; none at all where the file has no host side.

    Args:
        export: The file.
        launches: Kernels, copies or fills.
        with_ops: Whether ranges name operations.
    """
    calls = _calls(export, launches)
    found, names = _innermost(calls, export) if with_ops else (np.zeros(len(calls), np.int32), [NO_CALL.op])
    return (Call(names[at], int(called)) for at, called in zip(found, calls[:, 1], strict=True))


def calls_table(export: Export) -> Table | None:
    """The table of the host's calls."""
    return export.table("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "globalTid", "correlationId"))


def _calls(export: Export, launches: Table) -> NDArray[np.int64]:
    """Thread and time of each launch's call, one row each; -1 where the file does not hold the call.

    Calls are grouped first: one launch never becomes two because its call is written twice.
    """
    runtime = calls_table(export)
    if runtime is None or not {"correlationId", "globalPid"} <= launches.columns:
        return np.zeros((0, 2), np.int64)
    grouped = (
        f"(SELECT correlationId AS c, globalTid & {PROCESS_MASK} AS p, globalTid AS thread, min(start) AS called "
        f'FROM "{runtime.name}" GROUP BY 1, 2) r'
    )
    joined = export.select(
        launches,
        ["r.thread", "r.called"],
        f"NOT INDEXED LEFT JOIN {grouped} ON r.c = t.correlationId AND r.p = t.globalPid",
    )
    flat = (value if isinstance(value, int) else -1 for row in joined for value in row)
    return np.fromiter(flat, np.int64).reshape(-1, 2)


def _innermost(calls: NDArray[np.int64], export: Export) -> tuple[NDArray[np.int32], list[HostOp]]:
    """Index of each call's operation: calls and ranges walked together, thread by thread, in time."""
    names = {NO_CALL.op: 0}
    found = np.zeros(len(calls), np.int32)
    table = nvtx_table(export)
    if table is None or not len(calls):
        return found, list(names)
    events = (each for each in ranges(export, table, by_thread=True) if each is not None)
    upcoming = next(events, None)
    open_ranges: list[Range] = []
    for at in np.lexsort((calls[:, 1], calls[:, 0])):
        thread, called = int(calls[at, 0]), int(calls[at, 1])
        while upcoming is not None and (upcoming.global_thread, upcoming.start_ns) <= (thread, called):
            open_ranges = _around(open_ranges, upcoming.global_thread, upcoming.start_ns)
            open_ranges.append(upcoming)
            upcoming = next(events, None)
        open_ranges = _around(open_ranges, thread, called)
        op = next(
            (op for each in reversed(open_ranges) if (op := operation(each.name)) and op.native), NO_CALL.op
        )
        found[at] = names.setdefault(op, len(names))
    return found, list(names)


def _around(open_ranges: list[Range], thread: int, time_ns: int) -> list[Range]:
    """Ranges of the thread that still hold the time. Started and ended ones need not nest."""
    return [each for each in open_ranges[-DEEPEST:] if each.global_thread == thread and each.end_ns > time_ns]
