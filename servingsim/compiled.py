"""Machine code for the simulator's loops, kept on disk between runs.

numba's own disk cache is keyed by the file that a function stands in and does not see the files of what it calls:
after an edit of a policy an old loop would go on running. So each state of the package's sources gets a cache folder
of its own. With `NUMBA_DISABLE_JIT=1` every function stays plain Python, with results equal to the last bit.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

PACKAGE = Path(__file__).parent
COMPILED_ROOMS = ("workers", "cluster", "sim/loop")
"""Folders whose functions are compiled by `compiled` and call one another."""
COMPILED_FILES = ("compiled.py", "timing/slot_inputs.py")
"""Files beside them that compiled code comes from."""

INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Wrappers for calls from Python are nearly half of the time to compile: most functions need none."""


def compiled(function: Function) -> Function:
    """The function as machine code for other compiled functions, read from disk where it was compiled before.

    Arrays are borrowed from the caller, never counted or made: counting references took three quarters of the time.
    """
    return _made(function, inline="never", **INTERNAL)


def entry(function: Function) -> Function:
    """As `compiled`, for a function that Python calls: it alone gets a wrapper that unpacks its arguments."""
    return _made(function, inline="never")


def inlined(function: Function) -> Function:
    """As `compiled`, for a few lines that are run for every request: their callers take them in."""
    return _made(function, inline="always", **INTERNAL)


def _made(function: Function, **options: object) -> Function:
    folder = cache_folder()
    default = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(folder or default)  # read once, while the decorator makes its cache
        made: Function = numba.njit(cache=True, error_model="numpy", _nrt=False, **options)(function)
    finally:
        numba.config.CACHE_DIR = default
    return made


@cache
def cache_folder() -> Path | None:
    """Folder of this state of the sources; None where it cannot be written (numba then chooses its own)."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "servingsim" / "numba"
    folder = root / sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


@cache
def sources_digest() -> str:
    """Digest of every source that compiled code can come from."""
    digest = hashlib.sha256()
    compiled_files = (file for room in COMPILED_ROOMS for file in (PACKAGE / room).rglob("*.py"))
    for file in sorted([*(PACKAGE / name for name in COMPILED_FILES), *compiled_files]):
        digest.update(file.relative_to(PACKAGE).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
