"""Truths: `python -m profiling run` as a child process, into a database of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from profiling.discovery import PACKAGE_ROOT
from servingsim.errors import ServingSimError
from skills.desk import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skills.desk import Desk
    from skills.validate_cache.depth import Depth
    from skills.watch import Watch

POLL_S = 0.2
OVERHEAD_S = 0.3
"""Of one shape beside its samples: operands, warm-up, the row."""
LIMIT = 5.0
"""A run that takes so many times what it was expected to is ended."""


def run_profiling(desk: Desk, command: Sequence[str], watch: Watch, *, timeout_s: float) -> dict[str, Any]:
    """Run a profiling command to its report.

    Raises:
        ServingSimError: E_CANCELLED, nobody waits any more; E_TIMEOUT; else what the command refused.
    """
    variables = {WORKSPACE_VARIABLE: str(desk.workspace)} if desk.workspace.is_dir() else {}
    paths = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [sys.executable, "-P", *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            start_new_session=True,
        )
        try:
            _wait(process, err.fileno(), watch, timeout_s)
        finally:
            # The group's leader is ours; its worker ends with it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return _report(out.read(), err.read().decode(errors="replace"), command)


def command_for(
    table: str,
    backend: str,
    db: str,
    spec: str,
    *,
    where: Sequence[str],
    depth: Depth | None,
    timeout_s: float,
) -> list[str]:
    """The words of a profiling run; without a depth its own defaults."""
    words = ["python", "-m", "profiling", "run", table, "--backend", backend, "--db", db, "--spec", spec]
    if depth is not None:
        words += ["--budget", f"{depth.budget_s:g}", "--min-samples", str(depth.min_samples)]
    return [*words, *where, "--timeout", f"{timeout_s:g}", "--retry-outliers", "--json"]


def shown(command: Sequence[str]) -> str:
    """A command for people, without the part that is for programs."""
    return shlex.join(word for word in command if word != "--json")


def cost_s(cache_ms: float | None, depth: Depth) -> float:
    """What timing a shape takes, from what the cache says of it."""
    launches_s = (cache_ms or 0.0) / 1e3 * (depth.min_samples + 2)
    return OVERHEAD_S + max(depth.budget_s, launches_s)


def _wait(process: subprocess.Popen[bytes], err: int, watch: Watch, timeout_s: float) -> None:
    deadline, told = time.monotonic() + timeout_s, 0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            return
        watch.check()
        lines = [line for line in _tail(err).splitlines() if line.startswith("[") and "]" in line]
        if len(lines) > told:
            told = len(lines)
            done, _, total = lines[-1][1 : lines[-1].index("]")].partition("/")
            if done.isdigit() and total.isdigit():
                watch.progress(float(done), float(total), f"measured {done} of {total}")
        if time.monotonic() > deadline:
            raise ServingSimError(
                f"measuring took longer than {timeout_s:.0f} s",
                code="E_TIMEOUT",
                hint="fewer probes (max_probes), or more time (measure_s); what is measured is kept",
            )


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode(errors="replace")


def _report(out: bytes, err: str, command: Sequence[str]) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        found = json.loads(out)
        if isinstance(found, dict) and "error" not in found:
            return found
        if isinstance(found, dict) and isinstance(found["error"], dict):
            facts = {key: str(found["error"].get(key, "")) for key in ("message", "known", "hint", "path")}
            raise ServingSimError(
                facts["message"], code="E_STATE", known=facts["known"], hint=facts["hint"], path=facts["path"]
            )
    last = " | ".join(err.strip().splitlines()[-3:])[-400:]
    raise ServingSimError(f"the measuring failed: {last}", code="E_TOOLCHAIN", hint=shown(command))


def spec_file(folder: Path, name: str, specs: Sequence[dict[str, Any]]) -> str:
    """Specs as a file that a command can name: @PATH."""
    path = folder / name
    path.write_text(json.dumps(list(specs)), encoding="utf-8")
    return f"@{path}"
