"""Processes by number and start time, so that a number that the system gave away again names nobody."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

POLL_S = 0.05
PROC = Path("/proc")


def spawn(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Start a program in a session of its own that reads nothing and writes into the log."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP],
    )
    # Somebody has to take note of its end, or it stays a zombie for as long as this process lives.
    threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()
    return pid


def identity(pid: int) -> str | None:
    """When a living process began, None where there is none. A zombie does not live."""
    fields = _stat(pid)
    if fields is None or fields[0] in {"Z", "X"}:
        return None
    return f"{_boot()}:{fields[19]}"


def alive(pid: int, began: str) -> bool:
    """Whether the very process that began then still lives."""
    return identity(pid) == began


def end(pid: int, began: str, *, grace_s: float) -> None:
    """End a process, its group and every process below it: politely, then for certain."""
    if not alive(pid, began):
        return
    family = {each: identity(each) for each in _below(pid)}
    _signal_group(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while alive(pid, began) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    _signal_group(pid, signal.SIGKILL)
    for each, each_began in family.items():
        if each_began is not None and alive(each, each_began):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
    deadline = time.monotonic() + grace_s
    while alive(pid, began) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _below(pid: int) -> Iterable[int]:
    """Every descendant, those in sessions of their own too."""
    children: dict[int, list[int]] = {}
    for name in os.listdir(PROC):  # noqa: PTH208 - names are all that is wanted
        fields = _stat(int(name)) if name.isdigit() else None
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the name, which may hold anything: state, parent, ..., start time."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        return ""
