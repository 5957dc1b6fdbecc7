"""A run on the CPU: operations of the host stand for kernels, each with the time that no operation inside it takes."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.contract import KernelLaunch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Spans:
    """When each operation of the host ran."""

    def __init__(self) -> None:
        self._columns = {name: array("q") for name in ("start_ns", "duration_ns", "thread")}
        self._texts = {name: array("i") for name in ("op", "shapes")}

    def add(self, start_ns: int, duration_ns: int, thread: int, op: int, shapes: int) -> None:
        """One operation; its texts as indices."""
        for name, value in (("start_ns", start_ns), ("duration_ns", duration_ns), ("thread", thread)):
            self._columns[name].append(value)
        self._texts["op"].append(op)
        self._texts["shapes"].append(shapes)

    def __len__(self) -> int:
        return len(self._texts["op"])

    def launches(self, ops: Sequence[str], shapes: Sequence[str]) -> Iterator[KernelLaunch]:
        """Every operation with its own time.

        Within an outermost operation they stand one behind the other, in the order in which they were called: they fill
        its time exactly, so that sums, gaps and busy time hold.
        """
        start, duration, thread = (np.asarray(self._columns[name], np.int64) for name in self._columns)
        order = np.lexsort((-duration, start, thread))
        own, top = _own_times(start, duration, thread, order)
        cursor, current = 0, -1
        for place, at in enumerate(order):
            if int(top[place]) != current:
                current, cursor = int(top[place]), int(start[at])
            name = ops[self._texts["op"][at]]
            yield KernelLaunch(
                name=name,
                start_ns=cursor,
                duration_ns=int(own[place]),
                device=0,
                stream=int(thread[at]),
                cpu_op=name,
                shapes=shapes[self._texts["shapes"][at]],
                launched_ns=int(start[at]),
            )
            cursor += int(own[place])


def _own_times(
    start: NDArray[np.int64], duration: NDArray[np.int64], thread: NDArray[np.int64], order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By place in the order: the time outside of operations inside, and the place of the outermost one around."""
    own = duration[order].copy()
    top = np.arange(len(order))
    open_: list[tuple[int, int, int]] = []
    for place, at in enumerate(order):
        begin, end = int(start[at]), int(start[at] + duration[at])
        while open_ and (open_[-1][0] != thread[at] or open_[-1][1] <= begin):
            open_.pop()
        if open_:
            _, outer_end, outer = open_[-1]
            end = min(end, outer_end)  # rounding lets an inner one end a little later
            own[place] -= int(start[at] + duration[at]) - end
            own[outer] -= end - begin
            top[place] = top[outer]
        open_.append((int(thread[at]), end, place))
    return own, top
