"""Commands that a skill runs on workspace code: limited in time, memory and environment, ended when nobody waits."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import site
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profiling.discovery import PACKAGE_ROOT
from skills.desk import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.desk import Desk
    from skills.watch import Watch

PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
)
TIMED_OUT = 124
MEMORY_BYTES = 8 * 2**30
TAIL_CHARACTERS = 2000


@dataclass(frozen=True)
class Ran:
    """How a command ended. `shown` is how a person would type it."""

    shown: str
    exit_code: int
    out: str
    err: str

    @property
    def tail(self) -> str:
        """The last that it said, on one line."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return " | ".join(lines[-4:])[-400:]


def python(module: str, arguments: Sequence[str], desk: Desk, watch: Watch, *, timeout_s: float) -> Ran:
    """Run a module of ours with the workspace in sight.

    Args:
        module: As `python -m` takes it.
        arguments: Behind it.
        desk: Its workspace is what the command sees.
        watch: Asked every second; where the caller has gone the command is ended.
        timeout_s: After it the command is ended, with exit code 124.
    """
    command = [sys.executable, "-P", "-m", module, *arguments]
    limits = ["-P", "-m", "skills.wire_kernel.limited", str(MEMORY_BYTES), str(int(4 * timeout_s) + 1), "--"]
    shown = f"python -m {shlex.join([module, *arguments])}"
    with (
        tempfile.TemporaryDirectory(prefix="servingsim-") as folder,
        Path(folder, "out").open("w+b") as out,
        Path(folder, "err").open("w+b") as err,
    ):
        process = subprocess.Popen(
            [sys.executable, *limits, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=_environment(desk),
            start_new_session=True,
        )
        try:
            code = _await(process, watch, time.monotonic() + timeout_s)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(2**22).decode(errors="replace"))
    return Ran(shown, code, *texts)


def _await(process: subprocess.Popen[bytes], watch: Watch, deadline: float) -> int:
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(0.5)
        watch.check()
    return TIMED_OUT


def _environment(desk: Desk) -> dict[str, str]:
    """Little of ours: a credential in the environment is nothing for agent-written code."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    checkout = "" if str(PACKAGE_ROOT) in site.getsitepackages() else str(PACKAGE_ROOT)
    paths = os.pathsep.join(filter(None, (checkout, os.environ.get("PYTHONPATH", ""))))
    return kept | {
        "PYTHONPATH": paths,
        WORKSPACE_VARIABLE: str(desk.workspace),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
