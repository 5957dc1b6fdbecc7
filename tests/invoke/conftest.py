"""Jobs in real processes, with stand-in tools that misbehave on purpose."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.invoke import Caller, invoke
from server.jobs.folder import job_folder, job_folders
from server.jobs.look import look
from server.tool import tools
from skills.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from server.envelope import Envelope
    from skills.watch import Watch

FOLDER = Path(__file__).parents[1] / "fixtures" / "job_tools"
PATIENCE_S = 60.0


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A workspace where the stand-in tools are known, in this process and in those of jobs."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path / "ws"))
    for tool in _stand_ins():
        monkeypatch.setitem(tools(), tool.name, tool)
    place = Desk(tmp_path / "ws", tmp_path / "rows.db", (tmp_path,), max_wait_s=PATIENCE_S)
    yield place
    from server.jobs.cancel import cancel  # noqa: PLC0415 - nothing outlives its test

    for folder in job_folders(place):
        cancel(folder)


@pytest.fixture
def call(desk: Desk) -> Callable[..., Envelope]:
    """Call a tool as a server does."""

    def run(
        tool: str,
        arguments: object = None,
        *,
        at: Desk = desk,
        watch: Watch | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Envelope:
        return invoke(
            tool, fields if arguments is None else arguments, at, caller=Caller("mcp", "test"), watch=watch
        )

    return run


@pytest.fixture
def read_only(desk: Desk) -> Desk:
    """The same workspace, not to be written."""
    return replace(desk, read_only=True)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait for something that another process does."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "did not happen"
            time.sleep(0.02)

    return wait


@pytest.fixture
def status(desk: Desk) -> Callable[[str], str]:
    """How a job stands."""
    return lambda job_id: look(job_folder(desk, job_id)).status


def _stand_ins() -> Any:  # noqa: ANN401 - a module that is no part of any package
    name = "stand_ins"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / "stand_ins.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name].TOOLS
