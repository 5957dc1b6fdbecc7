"""The way in: a file of any known format, told by its content, as a `Capture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.captures.analysis import analyse
from profiling.captures.contract import Reader
from profiling.captures.kept import keep
from profiling.captures.opening import head_of
from profiling.captures.sink import ColumnSink
from profiling.discovery import scan
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.capture import Capture
    from profiling.captures.contract import Phase

FOLDER = "profiling/captures/readers"


def load(path: Path, *, phase: Phase | None = None) -> Capture:
    """Read a capture.

    Args:
        path: A torch profiler trace, an Nsight Systems export or summary, a list of kernels, or what `capture import`
            kept.
        phase: Of everything whose phase the file does not say.

    Raises:
        ServingSimError: E_NOT_FOUND, E_PATH, E_LIMIT; E_INPUT, it is none of these, is damaged or holds no kernel.
    """
    sink, reader = read_into_sink(path)
    return analyse(path, sink.facts.get("kept_reader", reader.name), sink, phase)


def import_capture(path: Path, target: Path, *, phase: Phase | None = None) -> Capture:
    """Read a capture and keep it in a compact file that `load` reads.

    Args:
        path: The file.
        target: Where to write.
        phase: Of everything whose phase the file does not say; told here only, not kept.

    Raises:
        ServingSimError: As `load`; E_TOOLCHAIN, pyarrow is missing; E_PATH, the target cannot be written.
    """
    sink, reader = read_into_sink(path)
    capture = analyse(path, sink.facts.get("kept_reader", reader.name), sink, phase)
    keep(sink, reader.name, path, target)
    return capture


def read_into_sink(path: Path) -> tuple[ColumnSink, Reader]:
    """What the file holds, unjudged, and who read it."""
    reader = reader_of(path)
    sink = ColumnSink()
    try:
        reader.read(path, sink)
    except ServingSimError as error:
        if error.path:
            raise
        raise ServingSimError(
            error.what, code=error.code, known=error.known, hint=error.hint, path=str(path)
        ) from error
    return sink, reader


def reader_of(path: Path) -> Reader:
    """Who reads the file.

    Raises:
        ServingSimError: E_INPUT, nobody does.
    """
    head = head_of(path)
    known = readers()
    found = next((reader for reader in known if reader.recognises(path, head)), None)
    if found is None:
        raise ServingSimError(
            f"is no capture: it begins with {head[:40]!r}",
            path=str(path),
            known="; ".join(reader.what for reader in known),
        )
    return found


def readers() -> list[Reader]:
    """Every format, the ones whose content is plainest first."""
    found = []
    for each in scan(FOLDER):
        if each.defines("READER"):
            reader = each.load("READER")
            if isinstance(reader, Reader):
                found.append(reader)
    return sorted(found, key=lambda reader: (reader.name == "nsys_csv", reader.name))
