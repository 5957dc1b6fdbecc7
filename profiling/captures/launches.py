"""Every launch of a file in columns: some 70 bytes each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Launches:
    """Every launch of the file, one entry an array, sorted by device, process and start.

    Attributes:
        names: Distinct kernel names; `name` holds indices into it.
        cpu_ops: Distinct operations of the host, the first empty.
        shape_texts: Distinct input shapes, the first empty.
        grids: Distinct launch grids, the first empty.
        name: Index of the kernel's name.
        start_ns: As recorded.
        duration_ns: As recorded, broken ones too.
        launched_ns: When the host launched it, -1 where unknown.
        device: Index, -1 where unknown.
        process: Id, -1 where unknown.
        stream: Id.
        kind: Index into KINDS.
        correlation: -1 where unknown.
        graph: Replayed from a graph.
        cpu_op: Index into `cpu_ops`.
        shapes: Index into `shape_texts`.
        grid: Index into `grids`.
        step: Index into the capture's steps, OUTSIDE where none holds it.
        broken: 0 for a sound duration, else the index of the fault in `profiling.captures.broken.FAULTS`.
    """

    names: Sequence[str]
    cpu_ops: Sequence[str]
    shape_texts: Sequence[str]
    grids: Sequence[tuple[int, ...]]
    name: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    launched_ns: NDArray[np.int64]
    device: NDArray[np.int32]
    process: NDArray[np.int64]
    stream: NDArray[np.int64]
    kind: NDArray[np.uint8]
    correlation: NDArray[np.int64]
    graph: NDArray[np.bool_]
    cpu_op: NDArray[np.int32]
    shapes: NDArray[np.int32]
    grid: NDArray[np.int32]
    step: NDArray[np.int32]
    broken: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start_ns)
