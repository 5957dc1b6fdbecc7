"""Who ran what, as an export writes it: processes, threads, devices, and the file's own facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.captures.contract import UNKNOWN

if TYPE_CHECKING:
    from profiling.captures.contract import Sink
    from profiling.captures.nsys.database import Export

THREAD_BITS = 24
"""A global thread id holds machine, process and thread: the last two in 24 bits each."""
LOW = 2**THREAD_BITS - 1
FACTS = {
    "EXPORT_PRODUCT_NAME": "tool",
    "EXPORT_PRODUCT_VERSION": "tool_version",
    "EXPORT_SCHEMA_VERSION": "schema",
    "CUDA_GRAPH_TRACE_OPTIONS:MODE": "graph_trace",
}
Devices = dict[tuple[int, int], int]
"""GPU of the machine by a process's id and its own number for it."""


def process_of(global_id: object) -> int:
    """Process id of a global process or thread id."""
    return global_id >> THREAD_BITS & LOW if isinstance(global_id, int) and global_id > 0 else UNKNOWN


def thread_of(global_id: object) -> int:
    """Thread id of a global thread id."""
    return global_id & LOW if isinstance(global_id, int) and global_id > 0 else UNKNOWN


def describe(export: Export, sink: Sink) -> None:
    """Tell what wrote the file, and how it traced graphs."""
    for name in ("META_DATA_EXPORT", "META_DATA_CAPTURE"):
        table = export.table(name, ("name", "value"))
        if table is None:
            continue
        for key, value in export.select(table, ["name", "value"]):
            if key in FACTS and value is not None:
                sink.fact(FACTS[key], str(value)[:200])


def devices(export: Export, sink: Sink) -> Devices:
    """Tell what the devices are, and find which one a process means by its number.

    Each process counts the devices that it sees from 0; `TARGET_INFO_CUDA_DEVICE` says which they are.
    """
    gpus = export.table("TARGET_INFO_GPU", ("id", "name"))
    for index, name in export.select(gpus, ["id", "name"]) if gpus else ():
        if isinstance(index, int) and name:
            sink.device(index, str(name)[:200])
    seen = export.table("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
    rows = export.select(seen, ["pid", "cudaId", "gpuId"]) if seen else ()
    return {
        (pid, own): gpu
        for pid, own, gpu in rows
        if isinstance(pid, int) and isinstance(own, int) and isinstance(gpu, int)
    }
