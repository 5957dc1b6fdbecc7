"""A device whose times are known by formula, so that every figure can be worked out by hand."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from profiling.device import local_devices
from profiling.peaks import measured_dtypes
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from skills.desk import Desk
from skills.validate_cache.run import run
from skills.validate_cache.schema import CacheRequest, FidelityReport
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "fused_add_rms_norm"
CONFIG = {"gpu_name": "lab", "hidden_size": 64, "dtype": "bf16", "max_num_tokens": 64}
GRID = (1, 4, 16, 32, 64)
CV = 0.001


def straight_ms(num_tokens: int) -> float:
    """A time that caches linear in the work reproduce exactly."""
    return 1.0 + num_tokens / 100


@dataclass(frozen=True)
class Lab:
    """A desk over a store of rms_norm rows on the device `lab`, which is no device of this machine."""

    desk: Desk

    def put(
        self, times_ms: Mapping[int, float], *, backend: str = "torch", kind: str = "rms_norm", cv: float = CV
    ) -> None:
        """Store rows by num_tokens."""
        origins = Origins("measured", "lab", backend, backend, "1")
        with Store.open(self.desk.db, create=True) as store:
            store.put_device(
                replace(
                    local_devices(1)[-1].row(),
                    name="lab",
                    peak_flops={"bf16": 1e15},
                    memory_bytes_per_s=1e13,
                    limits_origin="datasheet",
                )
            )
            store.upsert(
                MeasuredRow(
                    kind,
                    {"num_tokens": at, "hidden_size": 64, "dtype": "bf16"},
                    Timing(ms, ms, ms, cv, 20),
                    origins,
                )
                for at, ms in times_ms.items()
            )

    def validate(self, **fields: Any) -> FidelityReport:  # noqa: ANN401 - a request's fields
        """Run the skill over held-out rows unless told otherwise."""
        given = {"kind": "rms_norm", "config": CONFIG, "truth": "holdout"} | fields
        return run(CacheRequest.model_validate(given), self.desk, Unwatched())


def _lab(folder: Path) -> Lab:
    (folder / "ws").mkdir()
    return Lab(Desk(folder / "ws", folder / "rows.db", (folder,)))


def _off_grid(lab: Lab) -> Lab:
    lab.put({at: straight_ms(at) for at in GRID})
    lab.put({2: straight_ms(2), 8: straight_ms(8) / 1.1, 24: straight_ms(24) / 1.3, 48: straight_ms(48)})
    return lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """No row yet."""
    return _lab(tmp_path)


@pytest.fixture
def off_grid(lab: Lab) -> Lab:
    """The grid straight, and beside it: 8 at 1 / 1.1 of the line, 24 at 1 / 1.3 of it, 48 on it, 2 on it."""
    return _off_grid(lab)


@pytest.fixture(scope="module")
def _judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, FidelityReport, dict[Path, bytes]]:
    """`off_grid` judged once, with the files that a test may spoil."""
    judged = _off_grid(_lab(tmp_path_factory.mktemp("judged")))
    report = judged.validate()
    kept = (judged.desk.db, Path(report.csv_path))
    return judged, report, {path: path.read_bytes() for path in kept}


@pytest.fixture
def judged(_judged: tuple[Lab, FidelityReport, dict[Path, bytes]]) -> Iterator[tuple[Lab, FidelityReport]]:
    """`off_grid` with its failing report (three of four probes within the bar); its files are put back."""
    lab, report, files = _judged
    yield lab, report
    for path, content in files.items():
        path.write_bytes(content)


@pytest.fixture
def here(tmp_path: Path) -> Desk:
    """A desk whose store knows this CPU's limits, so that a run does not begin by measuring them."""
    workspace = tmp_path / "ws"
    shutil.copytree(EXAMPLE, workspace, ignore=shutil.ignore_patterns("__pycache__"))
    known = replace(
        local_devices(1)[-1].row(),
        peak_flops=dict.fromkeys(measured_dtypes(with_torch=True), 1e15),
        memory_bytes_per_s=1e12,
        limits_origin="measured",
    )
    with Store.open(tmp_path / "rows.db", create=True) as store:
        store.put_device(known)
    return Desk(workspace, tmp_path / "rows.db", (tmp_path,))
