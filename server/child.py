"""Our own commands in a process that may see the workspace's code, for work that has to run it.

The process that asks gets plain JSON back, and never imports what the workspace holds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.jobs.process import end, identity
from server.jobs.start import worker_environment
from servingsim.errors import ServingSimError
from skills.desk import WORKSPACE_VARIABLE
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skills.desk import Desk
    from skills.watch import Watch

POLL_S = 0.2


@dataclass(frozen=True)
class Answer:
    """What a command said.

    Attributes:
        code: Its exit code.
        data: The JSON that it printed.
    """

    code: int
    data: Any


def answer_of(
    arguments: Sequence[str],
    desk: Desk,
    *,
    timeout_s: float,
    stdin: str = "",
    watch: Watch | None = None,
    on_line: Callable[[str], None] = lambda _line: None,
) -> Answer:
    """Run a command of ours that prints one JSON document.

    Args:
        arguments: After the interpreter's name.
        desk: Its workspace is what the process sees.
        timeout_s: It is ended then.
        stdin: What it reads.
        watch: Asked whether to go on.
        on_line: Told every line that it says on stderr.

    Raises:
        ServingSimError: What the command refused; E_TIMEOUT; E_INTERNAL where it printed no JSON.
    """
    environment = worker_environment()
    if desk.workspace.is_dir():
        environment[WORKSPACE_VARIABLE] = str(desk.workspace)
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(stdin.encode())
        asked.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            stdin=asked,
            stdout=said,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        began, lines = identity(process.pid), _Lines(process, on_line)
        try:
            _await(process, timeout_s, watch or Unwatched())
        finally:
            if began is not None and process.poll() is None:
                end(process.pid, began, grace_s=5.0)
            process.wait()
            lines.join()
        said.seek(0)
        return _answer(process.returncode, said.read().decode(errors="replace"), lines.last)


class _Lines:
    """Reads stderr while the command runs, and remembers its last lines."""

    def __init__(self, process: subprocess.Popen[bytes], on_line: Callable[[str], None]) -> None:
        self.last: list[str] = []
        self._process, self._on_line = process, on_line
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(5.0)
        if self._process.stderr is not None and not self._thread.is_alive():
            self._process.stderr.close()

    def _read(self) -> None:
        for line in self._process.stderr or ():
            text = line.decode(errors="replace").rstrip()
            self.last = [*self.last[-19:], text]
            self._on_line(text)


def _await(process: subprocess.Popen[bytes], timeout_s: float, watch: Watch) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            watch.check()
            if time.monotonic() > deadline:
                raise ServingSimError(
                    f"took longer than {timeout_s:g} s and was ended", code="E_TIMEOUT", hint="ask for less"
                ) from None
        else:
            return


def _answer(code: int, text: str, last: list[str]) -> Answer:
    try:
        # Code of the workspace may print while it is imported; the document is the last line.
        data = json.loads(text.strip().rpartition("\n")[2])
    except ValueError as error:
        said = "\n".join(last)[-1200:]
        raise ServingSimError(
            f"ended with code {code} without an answer: {said}", code="E_INTERNAL", hint="see the job's log"
        ) from error
    if isinstance(data, dict) and isinstance(data.get("error"), dict) and "code" in data["error"]:
        facts = data["error"]
        raise ServingSimError(
            facts.get("message", ""),
            code=facts["code"],
            known=facts.get("known", ""),
            hint=facts.get("hint", ""),
            path=facts.get("path", ""),
        )
    return Answer(code, data)
