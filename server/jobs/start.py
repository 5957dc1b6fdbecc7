"""Starting a job, once: the same work that is under way already is joined."""

from __future__ import annotations

import contextlib
import fcntl
import os
import site
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profiling.discovery import PACKAGE_ROOT
from server.calls import versions
from server.jobs.folder import ENDED, JobFolder, Order, Owner, job_folders, jobs_path
from server.jobs.look import settled
from server.jobs.process import identity, spawn
from server.whole_file import fresh_id, plain_json, sha256_of
from servingsim.errors import ServingSimError
from skills.desk import WORKSPACE_VARIABLE, Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from server.tool import Tool
    from skills.request import Request

LIMIT_S = 4 * 3600.0
RECENT = 200
"""Jobs that are looked through for the same work."""
NOT_WORK = frozenset({"wait_s", "detail"})
"""Fields that say how a caller wants to be answered, not what is to be done."""


def start(
    tool: Tool, request: Request, desk: Desk, *, call_id: str, limit_s: float = LIMIT_S
) -> tuple[JobFolder, bool]:
    """Have a tool's work done in a process of its own.

    Returns:
        The job's folder, and whether it was under way already.
    """
    args = request.normalised()
    key = work_key(tool.name, args, desk)
    with _one_at_a_time(jobs_path(desk)):
        for folder in job_folders(desk)[:RECENT]:
            if settled(folder).status not in ENDED and _key(folder) == key:
                return folder, True
        folder = _new_folder(desk)
        folder.write(
            "args",
            Order(
                tool=tool.name,
                args=args,
                key=key,
                desk=desk_as_data(desk),
                call_id=call_id,
                t=datetime.now(UTC),
                limit_s=limit_s,
            ),
        )
        folder.stand("queued")
    command = [sys.executable, "-P", "-m", "server.worker", str(folder.path)]
    pid = spawn(command, folder.log, worker_environment())
    began = identity(pid)
    if began is not None:
        folder.write("process", Owner(pid=pid, began=began))
    return folder, False


def work_key(tool: str, args: dict[str, Any], desk: Desk) -> str:
    """Equal for calls whose work is the same."""
    work = {name: value for name, value in args.items() if name not in NOT_WORK}
    place = {name: value for name, value in desk_as_data(desk).items() if name != "max_wait_s"}
    return sha256_of(plain_json([tool, sorted(work.items()), versions(), place]))


def desk_as_data(desk: Desk) -> dict[str, Any]:
    """A desk as plain data."""
    return {
        "workspace": str(desk.workspace),
        "db": str(desk.db),
        "roots": [str(root) for root in desk.roots],
        "read_only": desk.read_only,
        "max_wait_s": desk.max_wait_s,
    }


def worker_environment() -> dict[str, str]:
    """This process's variables, without the workspace: the process that judges does not import from it."""
    # A checkout has to be named; naming site-packages would put it before the standard library.
    checkout = "" if str(PACKAGE_ROOT) in site.getsitepackages() else str(PACKAGE_ROOT)
    paths = [path for path in (checkout, os.environ.get("PYTHONPATH", "")) if path]
    variables = {name: value for name, value in os.environ.items() if name != WORKSPACE_VARIABLE}
    return variables | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _key(folder: JobFolder) -> str:
    try:
        return folder.order().key
    except ServingSimError:
        return ""


def _new_folder(desk: Desk) -> JobFolder:
    while True:
        path = jobs_path(desk) / fresh_id("job", f"{datetime.now(UTC):%Y%m%d}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return JobFolder(path)


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Only one process of the workspace looks for running work and starts new work."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    number = os.open(path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)
