"""What ran on the devices: kernels, copies and fills of an export, each with who launched it."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal

from profiling.captures.contract import UNKNOWN, KernelLaunch
from profiling.captures.nsys.host_ops import MOST_LAUNCHES, NO_CALL, calls_of, calls_table
from profiling.captures.nsys.identity import process_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.captures.contract import Sink
    from profiling.captures.nsys.database import Export, Table
    from profiling.captures.nsys.host_ops import Call
    from profiling.captures.nsys.identity import Devices

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NAMES = ("demangledName", "mangledName", "shortName")
GRID = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}
"""CUPTI's numbers of copy directions; 11 to 13 are those of unified memory."""
SHARED = ("start", "end", "deviceId", "globalPid", "streamId", "correlationId", "graphNodeId")


def kernel_table(export: Export) -> Table | None:
    """The table of kernels; None where CUDA was not traced."""
    table = export.table(KERNELS, ("start", "end"))
    return table if table and table.columns & set(NAMES) else None


def tell_kernels(export: Export, sink: Sink, known: Devices, *, with_ops: bool) -> int:
    """Hand on every kernel.

    Returns:
        How many.
    """
    table = kernel_table(export)
    if table is None:
        return 0
    strings: dict[object, str] = {}
    for column in NAMES:
        strings |= export.named(table, column)
    columns = [table.column(name) for name in (*SHARED, *NAMES, *GRID)]
    calls, unnamed, told = _calls(export, sink, table, with_ops=with_ops), 0, 0
    for row, call in zip(_scan(export, table, columns), calls, strict=False):
        shared, names, grid = row[:7], row[7:10], row[10:]
        name = next((text for value in names if (text := _text(value, strings))), "")
        unnamed += not name
        launch = _launch(name or f"unnamed kernel {names[0]}", "kernel", shared, known, grid=grid, call=call)
        if launch:
            sink.launch(launch)
            told += 1
        else:
            sink.damaged("kernels without a start or an end")
    if unnamed:
        sink.fact("unnamed_kernels", str(unnamed))
    return told


def tell_copies(export: Export, sink: Sink, known: Devices) -> None:
    """Hand on copies and fills of the devices."""
    copies: tuple[tuple[str, Literal["memcpy", "memset"], str, Callable[[Any], str]], ...] = (
        ("MEMCPY", "memcpy", "copyKind", lambda kind: f"Memcpy {COPIES.get(kind, 'other')}"),
        ("MEMSET", "memset", "memKind", lambda _: "Memset"),
    )
    for suffix, kind, column, name in copies:
        table = export.table(f"CUPTI_ACTIVITY_KIND_{suffix}", ("start", "end"))
        if table is None:
            continue
        calls = _calls(export, sink, table, with_ops=False)
        rows = _scan(export, table, [table.column(each) for each in (*SHARED, column)])
        for row, call in zip(rows, calls, strict=False):
            launch = _launch(name(row[7]), kind, row[:7], known, call=call)
            if launch:
                sink.launch(launch)
            else:
                sink.damaged("copies without a start or an end")


def whole_graphs(export: Export) -> int:
    """Graph replays that were recorded as one event each: their kernels are not in the file."""
    return export.count(export.table(GRAPHS, ("start", "end")))


def _scan(export: Export, table: Table, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """A table from end to end; never by an index, whose order would be another."""
    return export.select(table, columns, "NOT INDEXED")


def _calls(export: Export, sink: Sink, table: Table, *, with_ops: bool) -> Iterator[Call]:
    """The host's side of each launch, as long as there are rows."""
    if calls_table(export) is None:
        return repeat(NO_CALL)
    if export.count(table) > MOST_LAUNCHES:
        sink.fact("host_side", f"left out: more than {MOST_LAUNCHES} launches in {table.name}")
        return repeat(NO_CALL)
    return chain(calls_of(export, table, with_ops=with_ops), repeat(NO_CALL))


def _text(value: object, strings: dict[object, str]) -> str:
    """A name: some versions hold it in the row itself."""
    return value if isinstance(value, str) else strings.get(value, "")


def _launch(
    name: str,
    kind: Literal["kernel", "memcpy", "memset"],
    shared: tuple[Any, ...],
    known: Devices,
    *,
    grid: tuple[Any, ...] = (),
    call: Call = NO_CALL,
) -> KernelLaunch | None:
    """One execution; None without its times."""
    start, end, device, pid, stream, correlation, node = shared
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    process, own = process_of(pid), _number(device)
    return KernelLaunch(
        name=name,
        start_ns=start,
        duration_ns=end - start,
        device=known.get((process, own), own),
        process=process,
        stream=_number(stream),
        kind=kind,
        correlation=_number(correlation),
        graph=node is not None,
        cpu_op=call.op.name,
        shapes=call.op.shapes,
        grid=grid if all(isinstance(each, int) for each in grid) else (),
        launched_ns=call.launched_ns,
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else UNKNOWN
