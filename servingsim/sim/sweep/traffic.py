"""The traffic of points: a file is read once for all points and rates that have it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.sim.workload.format import read_workload
from servingsim.sim.workload.load import arranged, workload_of

if TYPE_CHECKING:
    from servingsim.sim.workload.contract import Workload
    from servingsim.sim.workload.spec import WorkloadSpec

FileState = tuple[int, int]


def traffic(spec: WorkloadSpec) -> Workload:
    """As `workload_of`."""
    if spec.path is None:
        return workload_of(spec)
    return arranged(_read(spec.path, spec.format, spec.requests, file_state(spec)), spec)


def file_state(spec: WorkloadSpec) -> FileState:
    """Size and time of a spec's file, so that another one of its name is another workload; zeros without one."""
    if spec.path is None:
        return 0, 0
    try:
        state = Path(spec.path).stat()
    except (OSError, ValueError):  # reading it says what is wrong
        return 0, 0
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=2)
def _read(path: str, name: str, requests: int | None, _state: FileState) -> Workload:
    return read_workload(Path(path), name=name, limit=requests)
