"""What a reader finds, kept small: launches in columns, texts once, step annotations only.

A launch costs about 70 bytes, whatever its name's length.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from profiling.captures.capture import KINDS
from profiling.captures.step_names import step_name
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from profiling.captures.contract import KernelLaunch, Mark, Summary

MOST_LAUNCHES = 1_500_000
MOST_MARKS = 200_000
MOST_SUMMARIES = 20_000
MOST_TEXT = 96 * 2**20
"""Bytes of all distinct texts of one kind together."""
ENTRY_BYTES = 120
"""What a text costs beside its characters."""
LONGEST_NAME = 4096
WIDE = ("start_ns", "duration_ns", "launched_ns", "correlation", "process", "stream")
GRID_SIZE = 32
MOST_DEVICES = 2**31 - 1
NARROW = ("name", "cpu_op", "shapes", "grid", "device")
LARGEST = 2**61
"""Of a time: the sum of two still fits in 64 bits."""
T = TypeVar("T", bound="Hashable")


class Texts(Generic[T]):
    """Distinct values by index."""

    def __init__(self, first: T | None = None) -> None:
        self._index: dict[T, int] = {} if first is None else {first: 0}
        self._size = 0

    def index(self, value: T, size: int) -> int:
        """Index of a value, kept from now on.

        Raises:
            ServingSimError: E_LIMIT, together they are too large to keep.
        """
        found = self._index.get(value)
        if found is None:
            self._size += size + ENTRY_BYTES
            if self._size > MOST_TEXT:
                raise ServingSimError(
                    f"more than {MOST_TEXT} bytes of distinct names or shapes",
                    code="E_LIMIT",
                    hint="profile fewer steps",
                )
            found = self._index[value] = len(self._index)
        return found

    def values(self) -> list[T]:
        """All of them, by index."""
        return list(self._index)


class ColumnSink:
    """A `Sink` that keeps everything an analysis needs."""

    def __init__(self) -> None:
        self.columns: dict[str, array[int]] = {
            **{name: array("q") for name in WIDE},
            **{name: array("i") for name in NARROW},
            "kind": array("B"),
            "graph": array("B"),
        }
        self._append = [column.append for column in self.columns.values()]
        self._start = self.columns["start_ns"]
        self.names: Texts[str] = Texts()
        self.cpu_ops: Texts[str] = Texts("")
        self.shapes: Texts[str] = Texts("")
        self.grids: Texts[tuple[int, ...]] = Texts(())
        self.marks: list[Mark] = []
        self.other_marks = 0
        self.summaries: list[Summary] = []
        self.devices: dict[int, str] = {}
        self.facts: dict[str, str] = {}
        self.damage: Counter[str] = Counter()

    def launch(self, launch: KernelLaunch) -> None:
        """One execution."""
        if len(self._start) >= MOST_LAUNCHES:
            raise ServingSimError(
                f"more than {MOST_LAUNCHES} launches",
                code="E_LIMIT",
                hint="profile fewer steps: a few tell enough",
            )
        name = launch.name[:LONGEST_NAME]
        wide = (
            launch.start_ns,
            launch.duration_ns,
            launch.launched_ns,
            launch.correlation,
            launch.process,
            launch.stream,
        )
        if max(wide) > LARGEST or min(wide) < -LARGEST:
            wide = tuple(min(max(value, -LARGEST), LARGEST) for value in wide)  # type: ignore[assignment]
        narrow = (
            self.names.index(name, len(name)),
            self.cpu_ops.index(launch.cpu_op, len(launch.cpu_op)),
            self.shapes.index(launch.shapes, len(launch.shapes)),
            self.grids.index(launch.grid, GRID_SIZE),
            min(max(launch.device, -1), MOST_DEVICES),
            KINDS.index(launch.kind),
            launch.graph,
        )
        for append, value in zip(self._append, wide + narrow, strict=True):
            append(value)

    def mark(self, mark: Mark) -> None:
        """One range: kept where its name is a step's."""
        if step_name(mark.name) is None:
            self.other_marks += 1
        elif len(self.marks) >= MOST_MARKS:
            self.damage[f"step annotations beyond the first {MOST_MARKS}"] += 1
        else:
            self.marks.append(mark)

    def summary(self, summary: Summary) -> None:
        """One kernel's total."""
        if len(self.summaries) >= MOST_SUMMARIES:
            raise ServingSimError(f"more than {MOST_SUMMARIES} kernels", code="E_LIMIT")
        self.summaries.append(summary)

    def device(self, index: int, name: str) -> None:
        """What a device is."""
        self.devices[index] = name[:200]

    def fact(self, name: str, value: str) -> None:
        """Something of the file."""
        if name == "other_marks":  # of a capture that was kept: those it held are not in the file any more
            self.other_marks += int(value) if value.isdigit() else 0
        else:
            self.facts[name] = value[:500]

    def damaged(self, what: str, count: int = 1) -> None:
        """Something that is left out."""
        self.damage[what] += count
