"""Lines of a text export in whatever encoding a shell left it, one at a time and never a long one whole."""

from __future__ import annotations

import codecs
import gzip
import zlib
from typing import TYPE_CHECKING, BinaryIO

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_LINE = 2**20
BLOCK_BYTES = 2**16
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
"""PowerShell writes redirected output as UTF-16; Excel puts a mark before UTF-8."""


def decoded(head: bytes) -> str:
    """The beginning of a file as text; what cannot be is replaced."""
    mark, encoding = _encoding(head)
    return head[len(mark) :].decode(encoding, errors="replace")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line, without its end.

    Raises:
        ServingSimError: E_INPUT, it is binary or its compression is broken; E_LIMIT, a line is too long.
    """
    try:
        yield from _lines(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ServingSimError(
            f"its compression is broken: {error}", path=str(path), hint="copy the file again"
        ) from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number, kept = 0, ""
    for block in _blocks(path):
        if "\0" in block:
            raise ServingSimError(
                f"holds a zero byte after line {number}: it is no text",
                path=str(path),
                hint="nsys stats --report cuda_gpu_kern_sum --format csv FILE.nsys-rep > FILE.csv",
            )
        # Only these end a line: names may hold what else Unicode counts as an end.
        whole = (kept + block).replace("\r\n", "\n").split("\n")
        kept = whole.pop()
        for each in whole:
            number += 1
            yield number, each.rstrip("\r")
        if len(kept) > LONGEST_LINE:
            raise ServingSimError(
                f"line {number + 1} has more than {LONGEST_LINE} characters",
                code="E_LIMIT",
                path=str(path),
                hint="give a summary by kernel, a line each",
            )
    if kept.strip():
        yield number + 1, kept.rstrip("\r")


def _blocks(path: Path) -> Iterator[str]:
    with _opened(path) as handle:
        head = handle.read(BLOCK_BYTES)
        mark, encoding = _encoding(head)
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        yield decoder.decode(head[len(mark) :])
        while block := handle.read(BLOCK_BYTES):
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def _encoding(head: bytes) -> tuple[bytes, str]:
    return next((each for each in MARKS if head.startswith(each[0])), (b"", "utf-8"))
