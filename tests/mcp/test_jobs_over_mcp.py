"""Work that outlives the call, and the server, that started it."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client

from server.jobs.cancel import cancel
from server.jobs.folder import job_folders
from server.mcp.build import build_server
from server.tool import tools
from skills.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.mcp.conftest import Heard, Lines

STAND_INS = Path(__file__).parents[1] / "fixtures" / "job_tools"
SERVER = "import stand_ins; stand_ins.register(); from server import cli; cli.main(['serve'])"
PATIENCE_S = 60


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Desk]:
    """Where servers that are started in the test's folder work; its jobs end with the test."""
    place = Desk(tmp_path / "servingsim_workspace", tmp_path / "servingsim.db", (tmp_path,))
    yield place
    for folder in job_folders(place):
        cancel(folder)


@pytest.fixture
def with_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes tools that take long known, in this process and in those of jobs."""
    spec = importlib.util.spec_from_file_location("stand_ins", STAND_INS / "stand_ins.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stand_ins", module)
    spec.loader.exec_module(module)
    for tool in module.TOOLS:
        monkeypatch.setitem(tools(), tool.name, tool)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND_INS), os.environ.get("PYTHONPATH", "")]))


async def structured(client: Client, name: str, **arguments: object) -> dict[str, Any]:
    answer = (await client.call_tool(name, arguments)).structured_content
    assert answer is not None
    assert answer["ok"], answer
    return dict(answer)


@pytest.mark.anyio
async def test_cancelling_the_wait_does_not_cancel_the_job(
    workplace: Desk, with_stand_ins: None, era: str, heard: Heard
) -> None:
    """A client gives up after a minute; an hour of measuring must not end with its patience."""
    del with_stand_ins
    async with Client(build_server(workplace), mode=era) as client:
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                await client.call_tool("stand_in", {"act": "sleep"}, progress_callback=heard)

            group.start_soon(wait)
            with anyio.fail_after(PATIENCE_S):
                await heard.first.wait()
            group.cancel_scope.cancel()
        (job,) = (await structured(client, "job_wait"))["result"]["jobs"]
        assert job["status"] == "running"
        ended = await structured(client, "job_cancel", job_id=job["job_id"])
    assert "cancelled" in str(ended["result"])


def test_a_job_goes_on_while_the_server_is_restarted(workplace: Desk, start: Callable[..., Lines]) -> None:
    """Clients restart their servers at every session."""
    del workplace

    def server() -> Lines:
        lines = start("-c", SERVER, search=(STAND_INS,))
        lines.handshake()
        return lines

    first = server()
    first.call("stand_in", act="sleep", wait_s=0)
    job = first.answer(1)["structuredContent"]["job"]
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(PATIENCE_S) == 0
    second = server()
    second.call("job_wait", job_id=job["job_id"], wait_s=0)
    assert second.answer(1)["structuredContent"]["result"]["job"]["status"] in {"queued", "running"}
    second.call("job_cancel", job_id=job["job_id"])
    assert "cancelled" in str(second.answer(1)["structuredContent"]["result"])


@pytest.mark.anyio
async def test_a_job_over_its_wait_is_told_and_its_result_fetched(
    workplace: Desk, with_stand_ins: None, era: str
) -> None:
    del with_stand_ins
    async with Client(build_server(workplace), mode=era) as client:
        started = await structured(client, "stand_in", wait_s=0, note="later")
        assert started["result"] is None
        fetched = await structured(client, "job_wait", job_id=started["job"]["job_id"], wait_s=50)
    assert fetched["result"]["result"]["note"] == "later"
