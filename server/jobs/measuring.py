"""One measurement at a time on a machine: two that run at once would time each other."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skills.watch import Watch

MEASURING = frozenset({"profile_kernel", "validate_cache"})
"""Tools that time kernels."""
POLL_S = 0.5


@contextlib.contextmanager
def alone(watch: Watch, *, needed: bool) -> Iterator[None]:
    """Wait until no other measurement of this user runs; the lock goes with the process that holds it."""
    if not needed:
        yield
        return
    path = lock_path()
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(number, path, watch)
        yield
    finally:
        os.close(number)


def lock_path() -> Path:
    """The machine's lock file, one a user."""
    return Path(tempfile.gettempdir()) / f"servingsim-measuring-{os.getuid()}.lock"


def _take(number: int, path: Path, watch: Watch) -> None:
    told = False
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told:
                watch.progress(0, None, "waits for another measurement on this machine")
                told = True
            watch.check()
            time.sleep(POLL_S)
        except OSError as error:
            raise ServingSimError(
                f"cannot be locked: {error.strerror}", code="E_STATE", path=str(path)
            ) from error
        else:
            return
