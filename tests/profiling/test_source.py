"""The store as the simulator's timing source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiling.datasheet import datasheet_device
from profiling.device_row import DeviceRow
from profiling.row import MeasuredRow, Origins, Timing
from profiling.source import StoreSource
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.source import MemorySource, TimingSource

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.timing.source import Payload

ORIGINS = Origins("measured", "NVIDIA Test", "lib", "lib", "1", source="s", measured_at="t")
GPU = DeviceRow("NVIDIA Test", "cuda", 2**36, {"bf16": 9e14}, 3e12)


def gemm(m: int, n: int, time_ms: float, *, backend: str = "lib") -> MeasuredRow:
    args: Payload = {"m": m, "n": n, "k": 8, "dtype": "fp32"}
    return MeasuredRow(
        "single_gemm", args, Timing(time_ms, time_ms, time_ms, 0.1, 5), replace(ORIGINS, backend=backend)
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rows.db"
    with Store.open(path, create=True) as store:
        store.put_device(GPU)
        store.upsert([gemm(m, n, m * n / 100) for m in (1, 2, 4) for n in (8, 16)])
        store.upsert([gemm(1, 8, 7.0, backend="other")])
        small = MeasuredRow(
            "p2p", {"message_bytes": 8, "dtype": "fp32"}, Timing(1e-6, 1e-6, 1e-6, 0, 1), ORIGINS
        )
        store.upsert([small])
    return path


def test_it_answers_as_rows_in_memory_do(path: Path) -> None:
    """Defect: a simulator that works in tests and finds other rows in the store."""
    memory = MemorySource()
    for m in (1, 2, 4):
        for n in (8, 16):
            memory.add(
                "single_gemm", "NVIDIA Test", "lib", {"m": m, "n": n, "k": 8, "dtype": "fp32"}, m * n / 100
            )
    source: TimingSource = StoreSource(path)
    asked: list[Payload] = [{"n": 8, "k": 8, "dtype": "fp32"}, {"dtype": "fp32"}, {"n": 9}]
    for fixed in asked:
        ours = source.rows("single_gemm", "NVIDIA Test", "lib", fixed, ("m", "n"))
        theirs = memory.rows("single_gemm", "NVIDIA Test", "lib", fixed, ("m", "n"))
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            np.testing.assert_array_equal(np.sort(ours.time_ms), np.sort(theirs.time_ms))
            np.testing.assert_array_equal(ours.args["m"] * ours.args["n"] / 100, ours.time_ms)


def test_it_names_devices_backends_and_the_fastest_compute_row(path: Path) -> None:
    """Defect: the floor of an estimate taken from a message of eight bytes."""
    source = StoreSource(path)
    assert source.device("NVIDIA Test") == GPU.spec()
    assert source.backends("single_gemm", "NVIDIA Test") == ("lib", "other")
    assert source.backends("rms_norm", "NVIDIA Test") == ()
    assert source.fastest_ms("NVIDIA Test") == 0.08
    assert source.fastest_ms("NVIDIA Other") == 0.0
    assert source.host_overhead("NVIDIA Test", "vllm") is None


def test_rows_that_others_write_are_seen(path: Path) -> None:
    """Defect: a server answers from its first look at the file for ever."""
    source = StoreSource(path)
    fixed: Payload = {"n": 8, "k": 8, "dtype": "fp32"}
    first = source.rows("single_gemm", "NVIDIA Test", "lib", fixed, ("m",))
    assert source.rows("single_gemm", "NVIDIA Test", "lib", fixed, ("m",)) is first
    with Store.open(path) as writer:
        writer.upsert([gemm(512, 8, 1.0)])
    then = source.rows("single_gemm", "NVIDIA Test", "lib", fixed, ("m",))
    assert first is not None
    assert then is not None
    assert len(then) == len(first) + 1


def test_a_device_without_known_limits_is_refused_not_guessed(path: Path) -> None:
    """Defect: a bandwidth of zero divides, or an unknown device counts as infinitely fast."""
    source = StoreSource(path)
    with pytest.raises(ServingSimError, match="unknown device 'NVIDIA Nothing'") as refusal:
        source.device("NVIDIA Nothing")
    assert refusal.value.known == "NVIDIA Test"
    with Store.open(path) as store:
        store.put_device(DeviceRow("Some CPU [4 threads]", "cpu", 2**34))
    with pytest.raises(ServingSimError, match="limits of 'Some CPU"):
        source.device("Some CPU [4 threads]")


def test_a_gpu_that_nobody_stored_has_its_datasheet(path: Path) -> None:
    """Defect: predictions for a common GPU need a run on it first."""
    h100 = StoreSource(path).device("NVIDIA H100 80GB HBM3")
    assert h100.peak_flops["bf16"] == 989.4e12
    assert h100.memory_bytes_per_s == 3.35e12
    sheet = datasheet_device("NVIDIA H100 80GB HBM3")
    assert sheet is not None
    assert sheet.limits_origin == "datasheet"


def _times(path: Path, swept: list[str]) -> tuple[list[float], int]:
    rows = StoreSource(path).rows("single_gemm", GPU.name, "lib", {"k": 8, "dtype": "fp32", "n": 8}, swept)
    assert rows is not None
    return sorted(rows.time_ms.tolist()), rows.untrusted


@pytest.mark.parametrize(
    ("m", "served"),
    [
        (2, [0.08, 0.32]),  # inside: the neighbours answer better than a disturbed row
        (4, [0.08, 0.16, 99.0]),  # at the edge: leaving it out would shrink what was measured
    ],
)
def test_a_disturbed_row_is_left_out_where_the_others_reach_as_far(
    path: Path, m: int, served: list[float]
) -> None:
    """Defect: a row measured beside a busy neighbour passes for the kernel's time, and nothing says so."""
    disturbed = gemm(m, 8, 99.0)
    with Store.open(path) as store:
        timing = replace(disturbed.timing, outlier=True, outlier_reason="the process waited for a core")
        store.upsert([replace(disturbed, timing=timing)])
    assert _times(path, ["m"]) == (served, 1)


def test_a_disturbed_row_is_no_floor_under_estimates(path: Path) -> None:
    """Defect: one impossible time makes every estimate on the device too fast."""
    impossible = gemm(1, 8, 1e-9)
    with Store.open(path) as store:
        timing = replace(impossible.timing, outlier=True, outlier_reason="below the physical limit")
        store.upsert([replace(impossible, timing=timing)])
    assert StoreSource(path).fastest_ms(GPU.name) == 0.16
