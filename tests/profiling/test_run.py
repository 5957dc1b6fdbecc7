"""`run` as a real process: what it stores, what a fault costs, and what is left when it is stopped at any
moment.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import profiling
from profiling.device import local_devices
from profiling.measure import measure, measure_many
from profiling.plan import Job, RunSettings
from profiling.report import MeasureReport, Progress
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.source import Payload

CHECKOUT = Path(profiling.__file__).parents[1]
QUICK = RunSettings(threads=1, budget_s=0.005, min_samples=3)
FAST = ("--threads", "1", "--budget", "0.005", "--min-samples", "3")
CPU = local_devices(1)[-1].name


def gemm(m: int) -> dict[str, int | float | str]:
    return {"m": m, "n": 16, "k": 16, "dtype": "fp32"}


def sweep(*values: int) -> str:
    return json.dumps({"m": list(values), "n": 16, "k": 16, "dtype": "fp32"})


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return str(verdict)


@pytest.fixture
def calibrated(calibrated_db: Path) -> Path:
    """As `calibrated_db`, for one thread."""
    with Store.open(calibrated_db) as store:
        cpu = local_devices(1)[-1].row()
        store.put_device(
            replace(cpu, peak_flops={"fp32": 1e15}, memory_bytes_per_s=1e12, limits_origin="measured")
        )
    return calibrated_db


def test_the_documented_hand_off_measures_and_tells(
    start_profile: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Defect: the documented command does not run in a new folder, or noise of libraries gets into its
    JSON.
    """
    db = tmp_path / "handoff.db"
    spec = '{"m": 16, "n": 256, "k": 128, "dtype": "fp32"}'
    process = start_profile(*run_command(db, spec))
    out, err = process.communicate()
    assert process.returncode == 0, err
    report = MeasureReport.model_validate_json(out)
    assert (report.measured, report.skipped, report.failed, report.devices) == (1, 0, [], [CPU])
    (row,) = report.rows
    assert row == row | {
        "device": CPU, "backend": "numpy", "m": 16, "n": 256, "k": 128, "dtype": "fp32", "origin": "measured",
        "framework": "numpy",
    }  # fmt: skip
    assert row["median_ms"] > 0
    assert row["libraries"]["numpy"] == row["framework_version"]
    assert "[1/1] single_gemm numpy m=16 n=256 k=128 dtype=fp32: " in err
    with Store.open(db, read_only=True) as store:
        (device,) = store.devices()
        assert (device.name, device.threads, device.limits_origin) == (CPU, 1, "measured")
        assert device.has_limits
        work_per_ms = 2 * 16 * 256 * 128 / row["median_ms"]
        assert work_per_ms * 1e3 <= device.peak_flops["fp32"] * (1 + 1e-9)


def test_every_fault_costs_its_shape_and_says_why(numpy_workspace: Path, calibrated: Path) -> None:
    """Defect: a crash, a hang or a want of memory ends the run, loses other rows, or is called by another
    name.
    """
    del numpy_workspace
    settings = RunSettings(threads=1, budget_s=0.005, min_samples=3, timeout_s=1.5)
    shapes = [gemm(m) for m in (1, 101, 2, 102, 103, 104, 3, 105, 106, 4)]
    with Store.open(calibrated) as store:
        report = measure(store, "single_gemm", "faulty", shapes, settings=settings)
        assert [row["m"] for row in store.rows("single_gemm")] == [1, 2, 3, 4]
    assert report.measured == 4
    reasons = {shape.args["m"]: shape.reason for shape in report.failed}
    assert reasons.keys() == {101, 102, 103, 104, 105, 106}
    for m, words in {
        101: "crashed (signal 11",
        102: "was killed (SIGKILL), most likely for want of memory",
        103: "took longer than 1.5 s",
        104: "out of memory",
        105: "ValueError: a shape that this backend trips over",
        106: "ended with code 3",
    }.items():
        assert words in reasons[m]


def test_a_backend_that_does_not_load_fails_its_shapes_once(
    monkeypatch: pytest.MonkeyPatch, calibrated: Path, tmp_path: Path
) -> None:
    """Defect: a broken installation is tried again for each of a thousand shapes."""
    folder = tmp_path / "profiling" / "backends" / "broken"
    folder.mkdir(parents=True)
    (tmp_path / "broken_library.py").write_text("raise RuntimeError('built for another machine')\n")
    (folder / "single_gemm.py").write_text(
        "from profiling.contract import Backend\n"
        "BACKEND = Backend(name='broken', kind='single_gemm', devices=('cpu',), compute_dtypes=('fp32',),\n"
        "                  prepare=print, requires=('broken_library',))\n"
    )
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    with Store.open(calibrated) as store:
        report = measure(store, "single_gemm", "broken", [gemm(1), gemm(2)], settings=QUICK)
    assert [shape.reason for shape in report.failed] == [
        "backend 'broken' cannot be loaded: RuntimeError: built for another machine"
    ] * 2


def test_several_kinds_share_one_progress_and_rows_that_are_there_are_skipped(
    numpy_workspace: Path, calibrated: Path
) -> None:
    """Defect: a fill that counts each kind from nothing, or measures again what it has."""
    del numpy_workspace
    norm: Payload = {"num_tokens": 4, "hidden_size": 16, "dtype": "fp32"}
    jobs = [Job("single_gemm", "numpy", [gemm(1), gemm(2), gemm(1)]), Job("rms_norm", "numpy", [norm])]
    seen: list[Progress] = []
    with Store.open(calibrated) as store:
        first = measure_many(store, jobs, settings=QUICK, on_progress=seen.append)
        assert [(p.done, p.total, p.kind, p.outcome) for p in seen] == [
            (1, 3, "single_gemm", "measured"),
            (2, 3, "single_gemm", "measured"),
            (3, 3, "rms_norm", "measured"),
        ]  # fmt: skip
        again = measure_many(store, jobs, settings=QUICK, on_progress=seen.append)
        assert (first.measured, again.measured, again.skipped) == (3, 0, 3)
        assert again.rows == first.rows
        forced = measure_many(store, jobs[:1], settings=RunSettings(1, 0.005, 3, force=True))
        assert (forced.measured, forced.skipped) == (2, 0)
        assert sum(count.rows for count in store.counts()) == 3


def test_a_limit_that_a_row_passes_is_lifted(numpy_workspace: Path, calibrated: Path) -> None:
    """Defect: a calibration beside a busy neighbour makes a "physical limit" that real kernels pass."""
    del numpy_workspace
    with Store.open(calibrated) as store:
        slow = replace(store.devices()[-1], name=CPU, peak_flops={"fp32": 1.0}, memory_bytes_per_s=1.0)
        store.put_device(slow)
        report = measure(store, "single_gemm", "numpy", [gemm(64)], settings=QUICK)
        (after,) = [device for device in store.devices() if device.name == CPU]
    rate = 2 * 64 * 16 * 16 / report.rows[0]["median_ms"] * 1e3
    assert after.peak_flops["fp32"] == (pytest.approx(rate) if not report.outliers else 1.0)
    assert after.memory_bytes_per_s == 1.0  # these operands fit a cache


def test_outliers_are_measured_again_where_that_is_asked_for(numpy_workspace: Path, calibrated: Path) -> None:
    """Defect: a row that a busy neighbour spoilt stays, or every good row is measured again with it."""
    del numpy_workspace
    spoilt = Timing(99.0, 1.0, 999.0, 5.0, 8, outlier=True, outlier_reason="a busy neighbour")
    good = Timing(7.0, 7.0, 7.0, 0.0, 8)
    origins = Origins("measured", CPU, "numpy", "numpy", "2")
    with Store.open(calibrated) as store:
        store.upsert(
            MeasuredRow("single_gemm", gemm(m), timing, origins) for m, timing in ((1, spoilt), (2, good))
        )
        kept = measure(store, "single_gemm", "numpy", [gemm(1), gemm(2)], settings=QUICK)
        assert (kept.measured, kept.skipped) == (0, 2)
        retried = measure(
            store, "single_gemm", "numpy", [gemm(1), gemm(2)], settings=replace(QUICK, retry_outliers=True)
        )
        assert (retried.measured, retried.skipped) == (1, 1)
        assert [row["median_ms"] for row in retried.rows][1] == 7.0
        assert retried.rows[0]["median_ms"] != 99.0


def test_a_job_that_is_not_valid_leaves_everything_as_it_was(numpy_workspace: Path, tmp_path: Path) -> None:
    """Defect: the second job's typo is found after the first was measured."""
    del numpy_workspace
    jobs = [
        Job("single_gemm", "numpy", [gemm(1)]),
        Job("single_gemm", "numpy", [gemm(1) | {"dtype": "bf16"}]),
    ]
    with Store.open(tmp_path / "rows.db", create=True) as store:
        with pytest.raises(ServingSimError, match='dtype "bf16" is not run by backend') as refusal:
            measure_many(store, jobs, settings=QUICK)
        assert refusal.value.known == "fp32"
        assert not store.path.exists()


def test_shapes_that_cannot_be_are_failures_of_a_fill(numpy_workspace: Path, calibrated: Path) -> None:
    """Defect: one cell of a grid that is too large keeps the whole grid from being filled."""
    del numpy_workspace
    huge: Payload = {"m": 2**30, "n": 2**20, "k": 2**10, "dtype": "fp32"}
    with Store.open(calibrated) as store:
        report = measure(store, "single_gemm", "numpy", [huge, gemm(31337), gemm(1)], settings=QUICK)
    assert report.measured == 1
    assert "GiB are more than the" in report.failed[0].reason
    assert report.failed[1].reason == "m of 31337 is not supported"


@pytest.mark.parametrize("isolate", [False, True])
def test_isolation_gives_every_shape_its_own_process(
    numpy_workspace: Path, calibrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, isolate: bool
) -> None:
    """Defect: the option does nothing, or a persistent worker is started anew each time."""
    del numpy_workspace
    folder = tmp_path / "profiling" / "backends" / "telling"
    folder.mkdir(parents=True)
    (folder / "single_gemm.py").write_text(
        "import os\n"
        "from profiling.contract import Backend, Launch\n"
        "def prepare(setting, *, m, n, k, dtype):\n"
        f"    open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "    return Launch(calls=[lambda: sum(range(99))])\n"
        "BACKEND = Backend(name='telling', kind='single_gemm', devices=('cpu',), compute_dtypes=('fp32',),\n"
        "                  prepare=prepare)\n"
    )
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    settings = RunSettings(threads=1, budget_s=0.005, min_samples=3, isolate=isolate)
    with Store.open(calibrated) as store:
        assert measure(store, "single_gemm", "telling", [gemm(1), gemm(2)], settings=settings).measured == 2
    pids = set((tmp_path / "pids").read_text().split())
    assert len(pids) == (2 if isolate else 1)


MORE_THAN_ANY_TEST_WAITS_FOR = sweep(*range(1, 5001))


def run_command(db: Path, spec: str) -> tuple[str | Path, ...]:
    return ("run", "single_gemm", "--backend", "numpy", "--db", db, "--spec", spec, *FAST, "--json")


def read_until(process: subprocess.Popen[str], shapes: int) -> int:
    """Read progress lines until so many shapes are reported; their number."""
    seen = 0
    for text in process.stderr or []:
        seen += " ms" in text
        if seen >= shapes:
            break
    return seen


def assert_rows_are_whole(path: Path, at_least: int) -> int:
    """Every row that was reported is there, and every row that is there is a whole one."""
    assert integrity(path) == "ok"
    with Store.open(path, read_only=True) as store:
        rows = store.rows("single_gemm", device=CPU, backend="numpy")
    assert len(rows) >= at_least
    for row in rows:
        assert row["median_ms"] > 0
        assert row["samples"] >= 3
        assert row["measured_at"]
    return len(rows)


def test_kill_9_loses_at_most_the_row_being_measured(
    start_profile: Callable[..., subprocess.Popen[str]], calibrated: Path
) -> None:
    """Defect: a killed run leaves half a row, a locked or damaged file, or a worker that goes on for ever."""
    process = start_profile(*run_command(calibrated, MORE_THAN_ANY_TEST_WAITS_FOR))
    reported = read_until(process, 5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert reported == 5
    kept = assert_rows_are_whole(calibrated, at_least=reported)
    out, err = start_profile(*run_command(calibrated, sweep(*range(1, kept + 3)))).communicate()
    report = MeasureReport.model_validate_json(out)
    assert (report.skipped, report.measured, report.failed) == (kept, 2, []), err
    assert assert_rows_are_whole(calibrated, at_least=kept) == kept + 2


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(
    start_profile: Callable[..., subprocess.Popen[str]], calibrated: Path
) -> None:
    """Defect: Ctrl-C shows a traceback, loses rows, prints no report or leaves a worker behind."""
    process = start_profile(*run_command(calibrated, MORE_THAN_ANY_TEST_WAITS_FOR))
    reported = read_until(process, 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    report = json.loads(out)
    assert report["interrupted"] is True
    assert report["measured"] >= reported
    kept = assert_rows_are_whole(calibrated, at_least=report["measured"])
    out, err = start_profile(*run_command(calibrated, sweep(*range(1, kept + 3)))).communicate()
    again = MeasureReport.model_validate_json(out)
    assert (again.skipped, again.measured, again.interrupted) == (kept, 2, False), err


def test_two_runs_at_once_share_a_store(
    start_profile: Callable[..., subprocess.Popen[str]], calibrated: Path
) -> None:
    """Defect: two terminals measuring into one file lock each other out."""
    parts = (range(1, 16), range(10, 26))
    runs = [start_profile(*run_command(calibrated, sweep(*part))) for part in parts]
    for run in runs:
        out, err = run.communicate()
        assert run.returncode == 0, err
        assert json.loads(out)["failed"] == []
    assert assert_rows_are_whole(calibrated, at_least=25) == 25


def test_a_worker_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    """Defect: killed runs leave workers that hold memory and cores."""
    code = (
        "from profiling.worker_process import WorkerProcess as W; import signal; w = W(1); "
        "print(w._process.pid, flush=True); signal.pause()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT, start_new_session=True
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while _is_running(worker) and time.monotonic() < deadline:
        os.sched_yield()
    assert not _is_running(worker)
    del tmp_path


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_s": 0.0},
        {"budget_s": float("nan")},
        {"timeout_s": -1.0},
        {"min_samples": 0},
        {"threads": 0},
        {"threads": 10**6},
    ],
)
def test_settings_that_make_no_sense_are_refused(
    numpy_workspace: Path, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """Defect: a budget of nothing measures nothing; more threads than cores name a device that is not
    there.
    """
    del numpy_workspace
    with pytest.raises(ServingSimError) as refusal, Store.open(tmp_path / "rows.db", create=True) as store:
        measure(store, "single_gemm", "numpy", [gemm(1)], settings=RunSettings(**wrong))
    assert refusal.value.known
    assert list(tmp_path.iterdir()) == []
