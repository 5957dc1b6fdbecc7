"""Nsight Systems exports as SQLite, whatever version of the schema wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.captures.contract import Reader
from profiling.captures.nsys.database import MAGIC, open_export
from profiling.captures.nsys.executions import (
    kernel_table,
    tell_copies,
    tell_kernels,
    whole_graphs,
)
from profiling.captures.nsys.host_ops import calls_table
from profiling.captures.nsys.identity import describe, devices
from profiling.captures.nsys.ranges import tell_marks
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.contract import Sink
    from profiling.captures.nsys.database import Export

NODES = "profile with --cuda-graph-trace=node"


def recognises(_path: Path, head: bytes) -> bool:
    """A SQLite database; which one, reading says."""
    return head.startswith(MAGIC)


def read(path: Path, sink: Sink) -> None:
    """Hand on everything that an export holds.

    Raises:
        ServingSimError: E_INPUT, it is damaged, cut off, no export of Nsight Systems, or holds no kernel.
    """
    with open_export(path) as export:
        _check_kind(export)
        describe(export, sink)
        known = devices(export, sink)
        calls, graphs = export.count(calls_table(export)), whole_graphs(export)
        sink.fact("host_events", str(calls))
        operations = tell_marks(export, sink)
        if not tell_kernels(export, sink, known, with_ops=operations > 0):
            raise _no_kernels(export, calls, graphs)
        tell_copies(export, sink, known)
        if graphs:
            sink.damaged(f"graph replays recorded as one event each, without their kernels ({NODES})", graphs)


def _check_kind(export: Export) -> None:
    """Refuse databases that are something else."""
    known = {"StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE", "PROCESSES", "NVTX_EVENTS"}
    if any(name in known or name.startswith("CUPTI_ACTIVITY_KIND_") for name in export.tables):
        return
    held = ", ".join(sorted(export.tables)[:6]) or "no table"
    raise ServingSimError(
        f"is a database, but no export of Nsight Systems: it holds {held}",
        path=str(export.path),
        known="tables CUPTI_ACTIVITY_KIND_KERNEL and StringIds",
        hint="nsys export --type sqlite FILE.nsys-rep",
    )


def _no_kernels(export: Export, calls: int, graphs: int) -> ServingSimError:
    """Why an export without kernels has none, as far as it says."""
    if graphs:
        what, hint = f"holds {graphs} graph replays as one event each, and no kernel of its own", NODES
    elif "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL" in export.tables:
        what, hint = "is a database of nvprof", "profile with nsys profile --trace=cuda,nvtx"
    elif kernel_table(export) is None:
        what = f"holds no table of kernels ({calls} calls of the host): CUDA's device side was not traced"
        hint = "profile with nsys profile --trace=cuda,nvtx"
    else:
        what = f"holds no kernel ({calls} calls of the host)"
        hint = "profile a range in which the model runs"
    return ServingSimError(what, path=str(export.path), hint=hint)


READER = Reader("nsys_sqlite", "Nsight Systems export (nsys export --type sqlite)", recognises, read)
