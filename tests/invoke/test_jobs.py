"""Jobs in real processes: what a crash, a restart, a race or a retry leaves behind."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.arguments import request_of
from server.jobs.folder import JobFolder, Owner, job_folder, job_folders
from server.jobs.look import look
from server.jobs.measuring import alone, lock_path
from server.jobs.process import alive, identity
from server.jobs.start import desk_as_data, start
from server.jobs.wait import wait, waiting_s
from server.tool import tool_named
from servingsim.errors import ServingSimError
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]
    Status = Callable[[str], str]
    Until = Callable[[Callable[[], object]], None]


def begun(answer: Envelope) -> str:
    assert answer.ok
    assert answer.result is None
    assert answer.job is not None
    assert answer.job.poll_after_s > 0
    return answer.job.job_id


def owner(desk: Desk, job_id: str) -> Owner:
    found = job_folder(desk, job_id).owner()
    assert found is not None
    return found


def test_work_beyond_the_wait_goes_on_as_a_job_and_is_fetched_later(call: Invoke) -> None:
    job_id = begun(call("stand_in", note="later", wait_s=0))
    answer = call("job_wait", job_id=job_id, wait_s=50)
    assert answer.result is not None
    assert answer.result["job"]["status"] == "completed"
    assert answer.result["result"]["note"] == "later"
    assert answer.result["kept"]["report_id"].startswith("stand_in-")


def test_the_wait_is_capped_by_the_desk(desk: Desk) -> None:
    """A client that gives up after 60 s must have been answered before."""
    assert waiting_s(30, replace(desk, max_wait_s=5)) == 5
    assert waiting_s(3, replace(desk, max_wait_s=5)) == 3
    assert waiting_s(50, replace(desk, max_wait_s=600)) == 600


def test_progress_reaches_the_caller(call: Invoke) -> None:
    told = []

    class Seen(Unwatched):
        def progress(self, done: float, total: float | None, message: str) -> None:
            told.append((done, total, message))

    call("stand_in", note="x", watch=Seen())
    assert told == [(1.0, 3.0, "begun x")]


@pytest.mark.parametrize("act", ["die", "exit"])
def test_a_process_that_dies_without_a_word_is_a_failed_job(call: Invoke, act: str) -> None:
    """An agent that waits for a dead job waits for ever."""
    answer = call("stand_in", act=act)
    assert answer.error is not None
    assert answer.job is not None
    assert (answer.error.code, answer.job.status) == ("E_INTERNAL", "failed")
    assert answer.error.path.endswith("worker.log")


def test_a_kill_from_outside_is_noticed(call: Invoke, desk: Desk, status: Status, until: Until) -> None:
    job_id = begun(call("stand_in", act="sleep", wait_s=0))
    until(lambda: status(job_id) == "running")
    os.kill(owner(desk, job_id).pid, signal.SIGKILL)
    until(lambda: status(job_id) == "failed")


def test_another_server_returns_the_result_of_a_job_that_the_first_one_started(
    desk: Desk, tmp_path: Path
) -> None:
    """A restart of the server must not cost an hour of measuring."""
    go = tmp_path / "go"
    os.mkfifo(go)
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[2]); import stand_ins; stand_ins.register()\n"
        "from pathlib import Path; from skills.desk import Desk; from server.invoke import Caller, invoke\n"
        "data = json.loads(sys.argv[1])\n"
        "desk = Desk(Path(data['workspace']), Path(data['db']), tuple(map(Path, data['roots'])))\n"
        "answer = invoke('stand_in', {'note': 'first', 'wait_s': 0}, desk, caller=Caller('mcp'))\n"
        "print(answer.job.job_id, flush=True); import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = Path(__file__).parents[1] / "fixtures" / "job_tools"
    first = subprocess.run(
        [sys.executable, "-c", script, json.dumps(desk_as_data(desk)), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert first.returncode == -signal.SIGKILL, first.stderr
    job = job_folder(desk, first.stdout.strip())
    assert wait(job, 60, Unwatched()).status == "completed"
    result = job.outcome().result
    assert result is not None
    assert result["note"] == "first"


def test_the_same_call_joins_the_job_that_runs_and_another_one_does_not(call: Invoke, tmp_path: Path) -> None:
    """A client that retries after its own timeout must not measure twice at once."""
    seen = str(tmp_path / "seen")
    first = begun(call("stand_in", act="sleep", seen=seen, wait_s=0))
    again = call("stand_in", act="sleep", seen=seen, wait_s=0.1, detail="full")
    assert begun(again) == first
    assert first in again.warnings[0]
    assert begun(call("stand_in", act="sleep", note="other", wait_s=0)) != first


def test_many_who_start_the_same_at_once_start_it_once(desk: Desk, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        ids = pool.map(_start_sleeping, [(desk, str(tmp_path / "seen"))] * 8)
    assert len(set(ids)) == 1
    assert len(job_folders(desk)) == 1


def _start_sleeping(given: tuple[Desk, str]) -> str:
    desk, seen = given
    tool = tool_named("stand_in")
    folder, _ = start(tool, request_of(tool, {"act": "sleep", "seen": seen}), desk, call_id="c")
    return folder.job_id


@pytest.mark.parametrize("act", ["sleep", "deaf"])
def test_a_cancelled_job_ends_even_where_it_does_not_listen(
    call: Invoke, desk: Desk, status: Status, until: Until, act: str
) -> None:
    job_id = begun(call("stand_in", act=act, wait_s=0))
    until(lambda: status(job_id) == "running")
    process = owner(desk, job_id)
    answer = call("job_cancel", job_id=job_id)
    assert answer.result is not None
    assert answer.result["job"]["status"] == "cancelled"
    assert not alive(process.pid, process.began)
    found = call("job_wait", job_id=job_id).result
    assert found is not None
    assert found["error"]["code"] == "E_CANCELLED"


def test_cancelling_right_after_the_start_leaves_no_queued_job(
    call: Invoke, status: Status, until: Until
) -> None:
    """A signal that arrives before the process listens must not leave a job that is queued for ever."""
    for index in range(5):
        job_id = begun(call("stand_in", act="sleep", note=str(index), wait_s=0))
        call("job_cancel", job_id=job_id)
        until(partial(_is, status, job_id, "cancelled"))


def _is(status: Status, job_id: str, wanted: str) -> bool:
    return status(job_id) == wanted


def test_cancelling_ends_processes_in_sessions_of_their_own(
    call: Invoke, status: Status, until: Until, tmp_path: Path
) -> None:
    """A kernel that goes on after its job was cancelled disturbs the next measurement."""
    told = tmp_path / "pid"
    job_id = begun(call("stand_in", act="spawn", path=str(told), wait_s=0))
    until(lambda: told.exists() and told.read_text() and status(job_id) == "running")
    child = int(told.read_text())
    assert identity(child) is not None
    call("job_cancel", job_id=job_id)
    until(lambda: identity(child) is None)


def test_a_job_that_has_ended_stays_what_it_is(call: Invoke) -> None:
    done = call("stand_in").job
    assert done is not None
    cancelled = call("job_cancel", job_id=done.job_id).result
    assert cancelled is not None
    assert cancelled["job"]["status"] == "completed"


def test_a_process_number_that_was_given_away_names_nobody(
    call: Invoke, desk: Desk, status: Status, until: Until
) -> None:
    """A job whose number another process has got is not running, and that process must not be killed."""
    job_id = begun(call("stand_in", act="sleep", wait_s=0))
    until(lambda: status(job_id) == "running")
    process = owner(desk, job_id)
    folder = job_folder(desk, job_id)
    folder.write("process", Owner(pid=os.getpid(), began="another"))
    assert status(job_id) == "failed"
    assert call("job_cancel", job_id=job_id).ok
    os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("expected", ["failed", "cancelled"])
def test_a_dead_process_and_a_queued_status_are_reconciled(desk: Desk, call: Invoke, expected: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    began = identity(gone.pid) or "gone"
    gone.wait()
    done = call("stand_in").job
    assert done is not None
    folder = job_folder(desk, done.job_id)
    (folder.path / "result.json").unlink()
    folder.stand("queued")
    folder.write("process", Owner(pid=gone.pid, began=began))
    if expected == "cancelled":
        folder.cancel_marker.touch()
    assert look(folder).status == expected


def test_work_beyond_its_time_is_ended(desk: Desk) -> None:
    tool = tool_named("stand_in")
    folder, _ = start(tool, request_of(tool, {"act": "sleep"}), desk, call_id="c", limit_s=0.2)
    assert wait(folder, 60, Unwatched()).status == "failed"
    fault = folder.outcome().error
    assert fault is not None
    assert (fault.code, fault.retryable) == ("E_TIMEOUT", True)


def test_a_job_sees_neither_the_workspace_nor_the_servers_input(call: Invoke) -> None:
    """The process that judges must not import what an agent wrote, nor eat the protocol's messages."""
    result = call("stand_in", act="environment").result
    assert result is not None
    assert result["facts"] == {"workspace": "unset", "stdin": ""}


def test_only_one_measurement_runs_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two that time kernels at once time each other."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told = []

    class Impatient(Unwatched):
        def progress(self, _done: float, _total: float | None, message: str) -> None:
            told.append(message)

        def check(self) -> None:
            raise ServingSimError("enough", code="E_CANCELLED")

    with alone(Unwatched(), needed=True):
        assert lock_path().parent == tmp_path
        with pytest.raises(ServingSimError, match="enough"), alone(Impatient(), needed=True):
            pytest.fail("a second measurement began")
    assert told == ["waits for another measurement on this machine"]
    with alone(Impatient(), needed=True):
        pass


@pytest.mark.parametrize(
    "job_id", ["../../etc", "job-20260101-zzzzzz", "job-20260101-aaaaaa", "x" * 500, "job-\0"]
)
def test_a_job_that_is_none_is_refused(call: Invoke, job_id: str) -> None:
    for tool in ("job_wait", "job_cancel"):
        answer = call(tool, job_id=job_id)
        assert answer.error is not None
        assert answer.error.code in {"E_INPUT", "E_NOT_FOUND"}


@pytest.mark.parametrize(
    "name", ["status.json", "args.json", "result.json", "process.json", "progress.jsonl"]
)
def test_a_damaged_file_of_a_job_costs_that_job_only(call: Invoke, desk: Desk, name: str) -> None:
    """A half-written file of one job must not hide all the others."""
    damaged, good = call("stand_in", note="a").job, call("stand_in_skill").job
    assert damaged is not None
    assert good is not None
    path = JobFolder(desk.state / "jobs" / damaged.job_id).path / name
    for holds in ("", "{", '{"v": 99}', "[]", "\x00\xff"):
        path.write_text(holds, encoding="latin-1")
        listed: dict[str, Any] | None = call("job_wait").result
        assert listed is not None
        assert good.job_id in [each["job_id"] for each in listed["jobs"]], holds
    assert call("stand_in", note="b").ok
