"""profile_kernel and predict as an agent calls them: with kernels that stand in the workspace."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from profiling.device import local_devices
from profiling.store import Store
from server.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]
    Until = Callable[[Callable[[], object]], None]

CODE = Path(__file__).parents[1] / "profiling" / "workspace" / "profiling"
TINY = Path(__file__).parents[1] / "fixtures" / "configs" / "llama_tiny.json"
HANG = 103
SPEC = {"n": 16, "k": 16, "dtype": "fp32"}


@pytest.fixture
def measured(desk: Desk) -> Desk:
    """A workspace with runners of an agent, and a store that knows this CPU's limits already."""
    shutil.copytree(CODE, desk.workspace / "profiling")
    cpu = local_devices(1)[-1].row()
    known = replace(cpu, peak_flops={"fp32": 1e15}, memory_bytes_per_s=1e12, limits_origin="measured")
    with Store.open(desk.db, create=True) as store:
        store.put_device(known)
    return desk


def profile(call: Invoke, m: Any, **fields: Any) -> Envelope:  # noqa: ANN401 - what a spec may hold
    given = {"kind": "single_gemm", "backend": "numpy", "threads": 1, "specs": [{"m": m, **SPEC}]}
    return call("profile_kernel", given | fields)


def test_an_agents_backend_is_measured_into_the_servers_store(call: Invoke, measured: Desk) -> None:
    answer = profile(call, [1, 2])
    assert answer.result is not None, answer
    assert (answer.result["measured"], answer.result["failed"]) == (2, [])
    assert answer.result["db"] == str(measured.db)
    again = profile(call, [1, 2])
    assert again.result is not None
    assert (again.result["measured"], again.result["skipped"]) == (0, 2)


def test_a_shape_that_crashes_costs_itself_only(call: Invoke, measured: Desk) -> None:
    del measured
    answer = profile(call, [101, 1], backend="faulty")
    assert answer.result is not None, answer
    assert answer.result["measured"] == 1
    assert [each["args"]["m"] for each in answer.result["failed"]] == [101]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kind": "--help"}, "E_NOT_FOUND"),
        ({"specs": [{"m": 0, **SPEC}]}, "E_INPUT"),
        pytest.param({"kind": "single_gem"}, "E_NOT_FOUND", marks=pytest.mark.long),
        pytest.param({"backend": "nothing"}, "E_NOT_FOUND", marks=pytest.mark.long),
        ({"specs": []}, "E_INPUT"),
        ({"db": "../elsewhere.db"}, "E_PATH"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    call: Invoke, measured: Desk, fields: dict[str, Any], code: str
) -> None:
    answer = profile(call, 1, **fields)
    assert answer.error is not None
    assert answer.error.code == code
    assert not (measured.workspace.parent / "elsewhere.db").exists()


def test_a_cancelled_measurement_ends_the_kernel_too(call: Invoke, measured: Desk, until: Until) -> None:
    """A kernel that hangs must not go on for an hour after nobody wants it."""
    begun = profile(call, HANG, backend="faulty", wait_s=0)
    assert begun.job is not None
    job_id = begun.job.job_id
    log = measured.state / "jobs" / job_id / "status.json"
    until(lambda: json.loads(log.read_text())["status"] == "running")
    cancelled = call("job_cancel", job_id=job_id).result
    assert cancelled is not None
    assert cancelled["job"]["status"] == "cancelled"


def test_a_prediction_names_its_figures_and_what_is_missing(call: Invoke, measured: Desk) -> None:
    shutil.copy(TINY, measured.roots[0] / "config.json")
    answer = call(
        "predict", model="config.json", device="cpu", threads=1, stack="transformers", decode=["16x2"]
    )
    assert answer.result is not None, answer
    assert answer.result["iteration_ms"] > 0
    assert answer.result["missing"]
    times = [each["time_ms"] for each in answer.result["ops"]]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"model": "/etc/hostname"}, "E_PATH"),
        ({"device": "--help"}, "E_NOT_FOUND"),
        ({"decode": ["many"]}, "E_INPUT"),
        pytest.param({"model": "nobody/knows"}, "E_NOT_FOUND", marks=pytest.mark.long),
        pytest.param({"stack": "nope"}, "E_NOT_FOUND", marks=pytest.mark.long),
        ({"db": "../../rows.db"}, "E_PATH"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    call: Invoke, measured: Desk, fields: dict[str, Any], code: str
) -> None:
    del measured
    given = {"model": "qwen3-0.6b", "device": "cpu", "threads": 1, "stack": "transformers", "decode": ["16"]}
    answer = call("predict", given | fields)
    assert answer.error is not None
    assert answer.error.code == code


def test_jobs_are_listed_waited_for_and_cancelled_by_command(call: Invoke, desk: Desk) -> None:
    def command(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["jobs", *words], catch_exceptions=False)
        return result.exit_code, result.stdout

    assert command("list") == (0, "")
    assert not desk.workspace.exists()
    done, slow = call("stand_in", note="x").job, call("stand_in", act="sleep", wait_s=0).job
    assert done is not None
    assert slow is not None
    assert {each["job_id"] for each in json.loads(command("list", "--json")[1])} == {done.job_id, slow.job_id}
    assert done.job_id in command()[1]
    code, text = command("wait", done.job_id)
    assert (code, json.loads(text)["result"]["note"]) == (0, "x")
    assert command("wait", slow.job_id, "--wait-s", "0.1")[0] == 1
    assert json.loads(command("cancel", slow.job_id, "--json")[1])["status"] == "cancelled"
    assert command("wait", "job-20260101-000000", "--json")[0] == 2
