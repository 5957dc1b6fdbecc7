"""Several processes at one campaign, a kill in between, and a file that is no longer readable."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from server.campaign.read import list_campaigns
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.campaign.conftest import Shop

ROOT = Path(__file__).resolve().parents[2]
CLAIM = """
import sys
from server.campaign.schema import NextIn
from server.tool import tool_named
from skills.desk import Desk
from skills.watch import Unwatched
request = NextIn(campaign_id=sys.argv[1], worker=sys.argv[2])
task = tool_named("campaign_next").run(request, Desk.from_environment(), Unwatched()).task
print(task.task_id if task else "")
"""
HALF = """
import sys, time
from server.campaign.book import Book
from skills.desk import Desk
with Book(Desk.from_environment()) as book, book.change():
    for task in book.tasks(sys.argv[1]):
        book.put_task(sys.argv[1], task.with_(status="passed"))
    print("half", flush=True)
    sys.stdin.read()
"""


def _python(shop: Shop, script: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        cwd=ROOT,
        env=os.environ | {"SERVINGSIM_WORKSPACE": str(shop.desk.workspace)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_that_claim_at_once_get_different_tasks(shop: Shop) -> None:
    """Two agents on one task would both write its files."""
    kinds = ["a", "b", "c"]
    split = [{"share": 0.1, "call": {"kind": kind, "handoff": {}}} for kind in kinds]
    shop.start(goal="from_split", split_report_id=shop.keep("split_model", {"handoffs": split}))

    agents = [_python(shop, CLAIM, shop.campaign, f"agent{number}") for number in range(4)]
    got = sorted(agent.communicate(timeout=60)[0].strip() for agent in agents)

    assert got == ["", "wire-a", "wire-b", "wire-c"]


def test_a_kill_within_a_change_leaves_the_state_before_it_and_another_process_goes_on(shop: Shop) -> None:
    shop.wire()
    process = _python(shop, HALF, shop.campaign)
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert shop.status() == {"wire-add_norm": "open", "validate-add_norm": "open"}
    out, _ = _python(shop, CLAIM, shop.campaign, "bob").communicate(timeout=60)
    assert out.strip() == "wire-add_norm"
    assert shop.passing("wire-add_norm").ready == ["validate-add_norm"]


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at", b"SQLite format 3\0" * 9]
)
def test_a_damaged_file_is_named_and_left_as_it_is(shop: Shop, content: bytes) -> None:
    path = shop.desk.state / "campaigns.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    for look in (shop.wire, lambda: list_campaigns(shop.desk)):
        with pytest.raises(ServingSimError) as caught:
            look()
        assert (caught.value.code, caught.value.path) == ("E_STATE", str(path))
    assert path.read_bytes() == content


def test_a_torn_record_is_a_clear_refusal(shop: Shop) -> None:
    shop.wire()
    with sqlite3.connect(shop.desk.state / "campaigns.db") as connection:
        connection.execute("UPDATE tasks SET data = substr(data, 1, 40)")
    connection.close()

    with pytest.raises(ServingSimError, match="is damaged: a task is not readable"):
        shop.next()


def test_a_database_of_another_program_is_not_touched(shop: Shop) -> None:
    path = shop.desk.state / "campaigns.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(ServingSimError, match="another program"):
        shop.wire()
    assert path.read_bytes() == before


def test_looking_at_the_tools_imports_neither_sqlite_nor_numpy() -> None:
    """The server lists its tools within its first second."""
    script = (
        "import sys, json, server.tools.campaign_start, server.tools.campaign_next, server.tools.campaign_submit;"
        "print(json.dumps([name for name in ('sqlite3', 'numpy', 'torch', 'mcp') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []
