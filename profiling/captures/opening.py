"""Opening a file of unknown form: its beginning, and its text as a stream, decompressed and made valid."""

from __future__ import annotations

import codecs
import gzip
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD_BYTES = 2**16
GZIP, ZSTD, BZIP2, XZ, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"PK\x03\x04"
OTHERS = {ZSTD: "zstd -d", BZIP2: "bunzip2", XZ: "xz -d", ZIP: "unzip"}
MOST_BYTES = 4 * 2**30
"""Of text, decompressed."""


def head_of(path: Path) -> bytes:
    """The file's first 64 KiB, decompressed.

    Raises:
        ServingSimError: E_NOT_FOUND, E_PATH or E_INPUT: there is no file, it cannot be read, it is empty or packed in a
            form that is not read here.
    """
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if each.is_file())[:5]
        raise ServingSimError(
            "is a folder", path=str(path), known="one file of it: " + ", ".join(names), hint="name one file"
        )
    if not path.exists():
        raise ServingSimError("no such file", code="E_NOT_FOUND", path=str(path))
    if not path.is_file():
        raise ServingSimError("is no regular file", code="E_PATH", path=str(path))
    with unpacked(path) as stream, reading(path):
        head = stream.read(HEAD_BYTES)
    if not head:
        raise ServingSimError("is empty", path=str(path), hint="was the profiler stopped before it wrote?")
    for magic, command in OTHERS.items():
        if head.startswith(magic):
            raise ServingSimError("is packed in a form that is not read here", path=str(path), hint=command)
    return head


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed where it is gzip, whatever its name."""
    with reading(path):
        plain = path.open("rb")
    with plain:
        packed = plain.read(len(GZIP)) == GZIP
        plain.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=plain) as stream:
                yield stream  # type: ignore[misc]  # it is a binary stream in all but its type
        else:
            yield plain


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tell what is wrong with a file where reading it fails."""
    try:
        yield
    except EOFError as error:
        raise ServingSimError(
            "its gzip stream is cut off",
            path=str(path),
            hint="copy it again, or let the profiler finish writing",
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ServingSimError(
            f"its gzip stream is damaged: {error}",
            path=str(path),
            hint="copy it again; gzip -t FILE tests it",
        ) from error
    except OSError as error:
        raise ServingSimError(
            f"cannot be read: {error.strerror or error}", code="E_PATH", path=str(path)
        ) from error


def text_chunks(path: Path, size: int = 2**20) -> Iterator[str]:
    """The file as text, in chunks; bytes that are no UTF-8 become replacement characters.

    Raises:
        ServingSimError: E_INPUT, damaged; E_LIMIT, more than MOST_BYTES.
    """
    decoder = None
    taken = 0
    with unpacked(path) as stream:
        while True:
            with reading(path):
                chunk = stream.read(size)
            if decoder is None:
                wide = chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
            taken += len(chunk)
            if taken > MOST_BYTES:
                raise ServingSimError(
                    f"holds more than {MOST_BYTES} bytes of text",
                    code="E_LIMIT",
                    path=str(path),
                    hint="profile fewer steps, without stacks",
                )
            yield decoder.decode(chunk, final=not chunk)
            if not chunk:
                return
