"""What every reader of a capture hands on, whatever the file's format: launches, marks and what was wrong.

A file `profiling/captures/readers/<name>.py` registers by defining `READER`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Phase = Literal["prefill", "decode", "mixed", "unknown"]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One execution of one kernel (or device copy) on one stream.

    Attributes:
        name: Demangled, whole.
        start_ns: On the file's own clock.
        duration_ns: As recorded, whatever is wrong with it: the sink judges.
        device: Index, UNKNOWN where the file does not say.
        process: Process (rank) id, UNKNOWN where it does not say.
        stream: Stream id.
        kind: `kernel`, `memcpy` or `memset`.
        correlation: Ties it to its launch on the host, UNKNOWN.
        graph: Whether it was replayed from a graph.
        cpu_op: The host operation that launched it (`aten::mm`), empty where unknown.
        shapes: Input shapes of that operation as the file writes them, shortened to 200 characters.
        grid: Blocks and threads, `(gx, gy, gz, bx, by, bz)`, empty where unknown.
        launched_ns: When the host launched it, UNKNOWN where the file does not say: a device runs behind its host, so
            that this, and not `start_ns`, tells which range of the host a launch belongs to.
    """

    name: str
    start_ns: int
    duration_ns: int
    device: int = UNKNOWN
    process: int = UNKNOWN
    stream: int = UNKNOWN
    kind: Literal["kernel", "memcpy", "memset"] = "kernel"
    correlation: int = UNKNOWN
    graph: bool = False
    cpu_op: str = ""
    shapes: str = ""
    grid: tuple[int, ...] = ()
    launched_ns: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class Mark:
    """A named range: an engine's step annotation, an NVTX range, a profiler step.

    Attributes:
        name: As written.
        start_ns: On the file's own clock.
        end_ns: Exclusive.
        process: UNKNOWN where the file does not say.
        device: UNKNOWN for a range of the host.
        thread: Of a range of the host.
    """

    name: str
    start_ns: int
    end_ns: int
    process: int = UNKNOWN
    device: int = UNKNOWN
    thread: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class Summary:
    """One kernel's total, where the file has only totals (`nsys stats` CSV)."""

    name: str
    calls: int
    total_ns: int
    phase: Phase = "unknown"


class Sink(Protocol):
    """Takes what a reader finds, in the file's order, and keeps it small."""

    def launch(self, launch: KernelLaunch) -> None:
        """One execution."""

    def mark(self, mark: Mark) -> None:
        """One range."""

    def summary(self, summary: Summary) -> None:
        """One kernel's total."""

    def device(self, index: int, name: str) -> None:
        """What a device is."""

    def fact(self, name: str, value: str) -> None:
        """Something of the file: `rank`, `schema`, `tool`, `host_events` (a count), `graph_capture` ..."""

    def damaged(self, what: str, count: int = 1) -> None:
        """Something that could not be read and is left out, counted by its kind."""


@dataclass(frozen=True)
class Reader:
    """One format.

    Attributes:
        name: `torch`, `nsys_sqlite`, `nsys_csv`, `kernel_list`.
        what: For people.
        recognises: `(path, first 64 KiB, decompressed) -> bool`, by content rather than by name.
        read: `(path, sink)`; raises ServingSimError: E_INPUT with the place for a file that is none or is cut
            off, E_LIMIT.
    """

    name: str
    what: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Path, Sink], None]
