"""Ctrl-C on a tool that runs as a job, in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from server.jobs.folder import job_folders
from server.jobs.look import look
from skills.desk import Desk

ROOT = Path(__file__).parents[2]
STAND_INS = ROOT / "tests" / "fixtures" / "job_tools"
PATIENCE_S = 60.0
PROGRAM = "import stand_ins, sys; stand_ins.register(); from server.cli import main; main(sys.argv[1:])"


def start(tmp_path: Path, **arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "call", "stand_in", "--json", json.dumps(arguments)],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(STAND_INS)]),
            "SERVINGSIM_WORKSPACE": str(tmp_path / "ws"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_cancels_the_job_that_the_command_has_started(tmp_path: Path) -> None:
    """Defect: a person stops waiting, and the measurement goes on in the background without their knowledge."""
    seen = tmp_path / "seen"
    process = start(tmp_path, act="sleep", seen=str(seen))
    deadline = time.monotonic() + PATIENCE_S
    while not seen.exists():
        assert time.monotonic() < deadline, "it did not begin"
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "E_CANCELLED"
    assert "Traceback" not in err
    (folder,) = job_folders(Desk(tmp_path / "ws", tmp_path / "rows.db"))
    assert look(folder).status == "cancelled"


def test_the_command_waits_until_the_job_has_ended(tmp_path: Path) -> None:
    """Defect: a script gets a job's id where it needs the result."""
    out, _ = start(tmp_path, act="answer", note="done").communicate(timeout=PATIENCE_S)
    answer = json.loads(out)
    assert (answer["job"]["status"], answer["result"]["note"]) == ("completed", "done")


def test_with_wait_s_the_command_returns_while_the_job_goes_on(tmp_path: Path) -> None:
    """Defect: nobody can start a job and do something else."""
    process = start(tmp_path, act="sleep", wait_s=0)
    out, _ = process.communicate(timeout=PATIENCE_S)
    answer = json.loads(out)
    assert process.returncode == 0
    assert (answer["ok"], answer["result"]) == (True, None)
    desk = Desk(tmp_path / "ws", tmp_path / "rows.db")
    from server.jobs.cancel import cancel  # noqa: PLC0415 - nothing outlives the test

    for folder in job_folders(desk):
        assert cancel(folder).status == "cancelled"
