"""Files that are there whole or not at all, however the process that writes them ends."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write beside the place and move it there; nobody but the user may read it.

    Raises:
        FileExistsError: It is there already and `replace` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        if replace:
            beside.replace(path)
        else:
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def plain_json(data: object, *, indent: int | None = None) -> bytes:
    """Data as JSON in one form, so that equal data has equal bytes.

    Raises:
        ValueError: NaN or an infinity, which are no JSON.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(data, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def sha256_of(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def fresh_id(prefix: str, day: str) -> str:
    """A name such as `job-20261202-1a2b3c`."""
    return f"{prefix}-{day}-{secrets.token_hex(3)}"
