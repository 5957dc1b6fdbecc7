"""Agent-written code at arm's length: the only way in which a skill looks at a workspace file.

The file is imported in a process of its own with a time and a memory limit, and answers questions there as plain
data. The process that asks, which judges, never imports it. A module that answers defines operations
`(request) -> dict` and runs `serve({...})` under `__main__`.
"""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING, Any, Self

from profiling.worker_process import WorkerError, WorkerProcess
from servingsim.errors import ServingSimError
from skills.desk import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from servingsim.errors import ErrorCode
    from skills.desk import Desk

TIMEOUT_S = 60.0
MEMORY_BYTES = 4 * 2**30
"""Of private writable memory, above what the process starts with."""
_MEMORY_VARIABLE = "SERVINGSIM_SUBJECT_BYTES"


class Subject:
    """A process that may import what the workspace holds.

    Args:
        desk: Its workspace is what the process sees.
        module: What answers, for example `skills.wire_kernel.subject`.
        timeout_s: For each question.
        memory_bytes: Limit of its private memory.
    """

    def __init__(
        self, desk: Desk, module: str, *, timeout_s: float = TIMEOUT_S, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._module, self._timeout_s = module, timeout_s
        self._variables = {_MEMORY_VARIABLE: str(memory_bytes)}
        if desk.workspace.is_dir():
            self._variables[WORKSPACE_VARIABLE] = str(desk.workspace)
        self._process: WorkerProcess | None = None

    def ask(self, op: str, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - plain data
        """Have an operation answer.

        Raises:
            ServingSimError: The refusal that the operation raised, with its facts; E_STATE where the code crashed;
                E_TIMEOUT where it took too long. The process is ended then, and the next question gets a fresh one.
        """
        if self._process is None:
            self._process = WorkerProcess(1, self._module, self._variables)
        try:
            answer = self._process.ask({"op": op} | request, self._timeout_s)
        except WorkerError as error:
            self.close()
            code: ErrorCode = "E_TIMEOUT" if "took longer" in str(error) else "E_STATE"
            raise ServingSimError(
                f"{op}: {error}", code=code, hint="correct the workspace's file and call again"
            ) from error
        if answer.pop("ok"):
            return answer
        if "error" in answer:
            facts = answer["error"]
            raise ServingSimError(
                facts["message"],
                code=facts["code"],
                known=facts["known"],
                hint=facts["hint"],
                path=facts["path"],
            )
        raise ServingSimError(
            f"{op}: {answer['reason']}", code="E_STATE", hint="correct the workspace's file and call again"
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(operations: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Answer until the parent closes its end, with no more memory than it allowed."""
    from profiling import worker  # noqa: PLC0415 - only the process that answers needs it

    allowed = int(os.environ.get(_MEMORY_VARIABLE, MEMORY_BYTES))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + allowed
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    worker.serve(operations)
