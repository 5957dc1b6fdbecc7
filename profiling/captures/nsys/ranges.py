"""NVTX ranges of an export: steps of an engine, and the host operations that autograd's annotation writes.

`torch.autograd.profiler.emit_nvtx` writes `aten::mm, op_id = 7, sizes = [[64, 128], [128, 32]], input_op_ids = ...`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.captures.contract import Mark
from profiling.captures.nsys.identity import process_of, thread_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.captures.contract import Sink
    from profiling.captures.nsys.database import Export, Table

OPERATION = re.compile(
    r"(?P<name>.+?)(?:, seq = \d+)?, op_id = \d+(?:, sizes = (?P<shapes>.*?)(?:, input_op_ids.*)?)?$"
)
INSTANTS = {33, 34, 39, 75}
"""Event types without a duration: category, mark, thread and domain names."""
RANGES = {59, 60}
"""Pushed and popped, started and ended."""
LONGEST_SHAPES = 200
LONGEST_NAME = 1000


@dataclass(frozen=True, slots=True)
class HostOp:
    """An operation of the host as its range names it."""

    name: str
    shapes: str

    @property
    def native(self) -> bool:
        """Whether it is an operation of a library rather than a stage that a framework marks."""
        return self.name.startswith(("aten::", "c10::", "torch::", "autograd::")) or "Backward" in self.name


@dataclass(frozen=True, slots=True)
class Range:
    """One closed range on one thread."""

    global_thread: int
    start_ns: int
    end_ns: int
    name: str


def operation(name: str) -> HostOp | None:
    """The host operation that a range's name means; None where it is no operation's."""
    found = OPERATION.match(name)
    return HostOp(found["name"], (found["shapes"] or "")[:LONGEST_SHAPES]) if found else None


def nvtx_table(export: Export) -> Table | None:
    """The table of ranges, whatever its version; None where NVTX was not traced."""
    table = export.table("NVTX_EVENTS", ("start", "end"))
    return table if table and table.columns & {"text", "textId"} else None


def ranges(export: Export, table: Table, *, by_thread: bool = False) -> Iterator[Range | None]:
    """Closed ranges, None for each that was left open.

    Args:
        export: The file.
        table: Its ranges.
        by_thread: Sorted by thread and start, the enclosing one first; else as in the file.
    """
    texts = export.named(table, "textId")
    order = "ORDER BY thread, t.start, t.end DESC" if by_thread else ""
    columns = [
        "t.start",
        "t.end",
        table.column("globalTid", "0") + " AS thread",
        *(table.column(name) for name in ("text", "textId", "eventType")),
    ]
    for start, end, thread, text, text_id, kind in export.select(table, columns, order):
        name = text if text is not None else texts.get(text_id)
        if not isinstance(start, int) or name is None or kind in INSTANTS:
            continue
        if isinstance(end, int):
            yield Range(thread if isinstance(thread, int) else 0, start, end, str(name))
        elif kind in RANGES:
            yield None


def tell_marks(export: Export, sink: Sink) -> int:
    """Hand on every range that is no host operation.

    Returns:
        How many host operations there are.
    """
    table = nvtx_table(export)
    operations = 0
    for each in ranges(export, table) if table else ():
        if each is None:
            sink.damaged("ranges that never end")
            continue
        meant = operation(each.name)
        if meant and meant.native:
            operations += 1
            continue
        name = (meant.name if meant else each.name)[:LONGEST_NAME]
        process, thread = process_of(each.global_thread), thread_of(each.global_thread)
        sink.mark(Mark(name, each.start_ns, each.end_ns, process=process, thread=thread))
    return operations
