"""Golden files: what a program may rely on, kept as text. `UPDATE_GOLDEN=1` accepts what the code says now."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from profiling.cli import run as run_profiling
from profiling.device import local_devices
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from server.cli import main as run_servingsim

if TYPE_CHECKING:
    from collections.abc import Sequence

GOLDEN = Path(__file__).parent
WORKSPACE = GOLDEN.parent / "profiling" / "workspace"
H100 = "NVIDIA H100 80GB HBM3"
GEMM: dict[str, int | float | str] = {"n": 4096, "k": 4096, "dtype": "bf16"}
TABLE = """\
framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
VLLM,0.24.0,NVIDIA H100 80GB HBM3,gemm,linear,bfloat16,8,4096,4096,0.02
VLLM,0.24.0,NVIDIA H100 80GB HBM3,gemm,linear,bfloat16,8,4096,4096,0.022
VLLM,0.24.0,NVIDIA H100 80GB HBM3,gemm,linear,bfloat16,16,4096,4096,0
"""


@pytest.fixture
def updating_golden() -> bool:
    """Whether golden files are to be rewritten."""
    return os.environ.get("UPDATE_GOLDEN") == "1"


class Ask(Protocol):
    """Runs a command line of either program; returns the JSON on its stdout."""

    def __call__(self, words: Sequence[str], code: int = 0) -> Any: ...  # noqa: ANN401 - JSON


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a store `rows.db` with rows of an H100 and this CPU's limits, a table to import, logs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(WORKSPACE))
    monkeypatch.delenv("SERVINGSIM_DB", raising=False)
    said = Origins("imported", H100, "vllm-0.24.0:linear", "vllm", "0.24.0", source="a table")
    rows = [
        MeasuredRow("single_gemm", {"m": m, **GEMM}, Timing(time_ms, time_ms, time_ms, 0.01, 3), said)
        for m, time_ms in ((1, 0.015), (64, 0.016), (256, 0.025))
    ]
    cpu = local_devices()[-1].row()
    with Store.open("rows.db", create=True) as store:
        store.upsert(rows)
        store.put_device(
            replace(cpu, peak_flops={"fp32": 1e12}, memory_bytes_per_s=1e10, limits_origin="measured")
        )
    lines = [f"{m},4096,4096,bf16,{20 + m / 8}" for m in (1, 4, 16, 24, 64, 96, 256, 1024)]
    (tmp_path / "measured.csv").write_text("\n".join(["m,n,k,dtype,time_us", *lines]))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "gemm_perf.csv").write_text(TABLE)
    _logs(tmp_path)
    return tmp_path


def _logs(folder: Path) -> None:
    """What an engine did: two runs of iterations, and six requests."""
    header = {"kind": "header", "engine": "vllm", "max_num_batched_tokens": 256, "max_num_seqs": 16}
    steps = [
        {"kind": "iter", "rep": rep, "i": at, "t0": at * 0.03, "step_ms": 20.0 + at, "ctx": ctx, "gen": gen}
        for rep in (0, 1)
        for at, (ctx, gen) in enumerate([([[0, 64]], []), ([], [64]), ([], [65])])
    ]
    asked = [
        {"kind": "req", "rep": rep, "plen": 64, "sub": 0.0, "tok": [0.02, 0.051, 0.082]} for rep in (0, 1)
    ]
    iterations = "\n".join(json.dumps(line) for line in (header, *steps, *asked))
    (folder / "iterations.jsonl").write_text(iterations)
    names = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
    requests = [
        {"input_toks": 100, "output_toks": 8}
        | {name: 50 + at / 4 + after for name, after in zip(names, (0, 0.001, 0.02, 0.15), strict=True)}
        for at in range(6)
    ]
    (folder / "requests.jsonl").write_text("\n".join(json.dumps(line) for line in requests))


@pytest.fixture
def ask(folder: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """A command line, run in `folder`."""
    del folder

    def run(words: Sequence[str], code: int = 0) -> Any:  # noqa: ANN401 - JSON
        capsys.readouterr()
        if words[0] == "servingsim":
            with pytest.raises(SystemExit) as exit_:
                run_servingsim(words[1:])
            seen = exit_.value.code
        else:
            seen = run_profiling(words[1:])
        captured = capsys.readouterr()
        assert seen == code, captured.err
        return json.loads(captured.out)

    return run
