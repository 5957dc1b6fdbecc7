"""The profiler's tests measure with numpy: the runners of `workspace/` need neither torch nor a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import profiling
from profiling.device import local_devices
from profiling.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

WORKSPACE = Path(__file__).parent / "workspace"
CHECKOUT = Path(profiling.__file__).parents[1]


@pytest.fixture
def numpy_workspace(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace with the runners `numpy` and `faulty`, and the importer `fixed_rows`."""
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(WORKSPACE))
    monkeypatch.delenv("SERVINGSIM_DB", raising=False)
    return WORKSPACE


@pytest.fixture
def calibrated_db(tmp_path: Path) -> Path:
    """A store that knows the limits of this CPU already, so that a run does not begin by measuring them."""
    path = tmp_path / "rows.db"
    cpu = local_devices()[-1].row()
    known = replace(cpu, peak_flops={"fp32": 1e15}, memory_bytes_per_s=1e12, limits_origin="measured")
    with Store.open(path, create=True) as store:
        store.put_device(known)
    return path


@dataclass(frozen=True)
class Answer:
    """What a command line answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def profile(numpy_workspace: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """`python -m profiling ...` in this process."""
    del numpy_workspace

    def run(*argv: str | Path) -> Answer:
        from profiling.cli import run as run_command_line  # noqa: PLC0415 - imports click, which few tests need

        capfd.readouterr()
        code = run_command_line([str(arg) for arg in argv])
        captured = capfd.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def start_profile(numpy_workspace: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """`python -m profiling ...` as a real process of its own, started in an empty folder."""

    def start(*argv: str | Path, **options: Any) -> subprocess.Popen[str]:  # noqa: ANN401 - as Popen's
        environment = os.environ | {
            "PYTHONPATH": str(CHECKOUT),
            "SERVINGSIM_WORKSPACE": str(numpy_workspace),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "profiling", *map(str, argv)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tmp_path,
            **options,
        )

    return start
