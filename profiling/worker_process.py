"""The parent's side of a measurement worker: start it, ask it, and survive what happens to it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import site
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Self

from profiling import allocator, protocol
from profiling.discovery import PACKAGE_ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

START_TIMEOUT_S = 60.0
DEATH_S = 5.0
"""Time to end after the last answer."""
POLL_S = 0.5
"""How soon a death is noticed when a surviving grandchild holds the pipe open."""
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
TAIL_CHARACTERS = 400


class WorkerError(Exception):
    """A worker that cannot answer any more: it died, or it was ended because it took too long."""


class WorkerProcess:
    """A running worker. It leads its own process group, so that Ctrl-C reaches the parent only, and so that
    ending it ends the processes that it started.

    Args:
        threads: Threads that its libraries may use; 0 leaves their default.
        module: What it runs: a module that serves the protocol.
        variables: Environment variables beside this process's own.
        python: The interpreter, where a kernel's library is installed in another environment than this one.
    """

    def __init__(
        self,
        threads: int,
        module: str = "profiling.worker",
        variables: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        try:
            self._process = subprocess.Popen(
                [python, "-P", "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env={**_environment(threads), **(variables or {})},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._stderr.close()
            raise WorkerError(f"{python} cannot be started: {error}") from error
        self._buffer = b""
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise

    def ask(self, request: protocol.Message, timeout_s: float) -> protocol.Message:
        """Send a request and wait for its answer.

        Raises:
            WorkerError: With the reason, when the worker died or took longer than the timeout.
        """
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(protocol.encode(request))
        except OSError as error:
            raise WorkerError(self._cause_of_death()) from error
        return self._answer(time.monotonic() + timeout_s, f"took longer than {timeout_s:g} s and was ended")

    def close(self) -> None:
        """End the worker and every process of its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._answer(deadline, f"did not start within {START_TIMEOUT_S:g} s") != protocol.READY:
            pass

    def _answer(self, deadline: float, too_late: str) -> protocol.Message:
        while True:
            line = self._line(deadline, too_late)
            message = protocol.decode(line)
            if message is not None:
                return message

    def _line(self, deadline: float, too_late: str) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise WorkerError("has no output")
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise WorkerError(too_late)
                if selector.select(min(left_s, POLL_S)):
                    received = os.read(stdout.fileno(), 65536)
                    if not received:
                        raise WorkerError(self._cause_of_death())
                    self._buffer += received
                elif self._process.poll() is not None:
                    raise WorkerError(self._cause_of_death())
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _cause_of_death(self) -> str:
        try:
            code = self._process.wait(DEATH_S)
        except subprocess.TimeoutExpired:
            return "closed its end without ending"
        return f"{_cause(code)}{self._last_words()}"

    def _last_words(self) -> str:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 4096))
        lines = [line.strip() for line in self._stderr.read().decode(errors="replace").splitlines()]
        words = " | ".join([line for line in lines if line][-3:])[-TAIL_CHARACTERS:]
        return f": {words}" if words else ""


def _cause(code: int) -> str:
    if code == -signal.SIGKILL:
        return "the worker was killed (SIGKILL), most likely for want of memory"
    if code < 0:
        return f"the worker crashed (signal {-code}, {signal.strsignal(-code)})"
    return f"the worker ended with code {code}"


def _environment(threads: int) -> dict[str, str]:
    # A checkout has to be named; naming site-packages would put it before the standard library.
    checkout = "" if str(PACKAGE_ROOT) in site.getsitepackages() else str(PACKAGE_ROOT)
    paths = [checkout, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return (
        environment | allocator.ENVIRONMENT | dict.fromkeys(THREAD_VARIABLES if threads else (), str(threads))
    )
