"""A campaign over MCP alone, from a hand-off to the closeout, and its log replayed in a fresh workspace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.worked_example import flow
from tests.worked_example.transcript import page

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.long
def test_a_kernel_is_wired_composed_and_closed_out_over_mcp_and_its_log_replays(tmp_path: Path) -> None:
    """Defect: a brief that lacks what its task needs, a gate that an honest report cannot pass, a log that does not
    tell the whole story: any of them breaks the chain or its replay.
    """
    pytest.importorskip("torch")
    workspace, db = tmp_path / "workspace", tmp_path / "rows.db"
    turns = anyio.run(flow.run, workspace, db)
    closeout = _closeout(turns[-1].envelope["result"])
    assert {task["skill"]: task["status"] for task in turns[-1].envelope["result"]["tasks"]}.keys() == {
        "wire_kernel", "validate_cache", "compose_op"
    }  # fmt: skip
    assert f"servingsim/timing/kernels/{flow.KIND}.py" in json.dumps(closeout)
    assert str(tmp_path) not in page(turns, tmp_path)

    log = next((workspace / "state" / "calls").glob("*.jsonl"))
    again = tmp_path / "again"
    flow.prepare(again)
    replayed = _replay(log, again, tmp_path / "again.db")
    answers = json.loads(replayed.stdout)
    other = [call for call in answers["calls"] if call["verdict"] != "same"]
    assert not other, json.dumps(other, indent=1)
    assert replayed.returncode == 0, replayed.stderr
    assert {call["tool"] for call in answers["calls"]} >= {"wire_kernel", "compose_op", "validate_cache"}


def _closeout(last: dict[str, Any]) -> dict[str, Any]:
    assert last["standing"] == "ended"
    found: dict[str, Any] = last["closeout"]
    return found


def _replay(log: Path, workspace: Path, db: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SERVINGSIM_WORKSPACE": str(workspace), "SERVINGSIM_DB": str(db)}
    command = [
        sys.executable,
        "-m",
        "server.cli",
        "replay",
        str(log),
        "--check",
        "tolerance",
        "--yes",
        "--json",
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
