"""Which devices are at hand, and what is known about them without running anything."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from profiling import cpu_facts
from profiling.datasheet import datasheet_device
from profiling.device import local_devices, local_named
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

SHEETS = json.loads((files("profiling") / "datasheet.json").read_text())["devices"]


@pytest.fixture
def one_h100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's tool that reports an H100."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 81559, 80994, 550.54.15'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_cpu_is_keyed_by_its_model_and_threads() -> None:
    """Defect: times of one thread are taken for those of all cores."""
    cpu = local_devices(1)[-1]
    assert (cpu.type, cpu.threads, cpu.name) == ("cpu", 1, f"{cpu_facts.model_name()} [1 threads]")
    assert 0 < cpu.free_memory_bytes <= cpu.memory_bytes
    assert cpu.last_level_cache_bytes > 2**18
    assert local_named(cpu.name) is not None
    assert local_named(cpu.name.replace("[1 ", "[999999 ")) is None
    assert local_named("NVIDIA Nothing") is None


@pytest.mark.parametrize("threads", [0, -1, 10**6])
def test_threads_that_there_are_not_are_refused(threads: int) -> None:
    """Defect: oversubscribed cores are stored as a device that does not exist."""
    with pytest.raises(ServingSimError, match=f"{threads} threads") as refusal:
        local_devices(threads)
    assert str(cpu_facts.available_threads()) in refusal.value.known


@pytest.mark.usefixtures("one_h100")
def test_a_gpu_is_found_under_its_true_name_with_its_datasheet() -> None:
    """Defect: rows of a GPU under a made-up key, or without a physical limit."""
    gpu = local_devices()[0]
    assert (gpu.name, gpu.type, gpu.threads, gpu.driver) == ("NVIDIA H100 80GB HBM3", "cuda", 0, "550.54.15")
    assert gpu.memory_bytes == 81559 * 2**20
    row = gpu.row()
    assert row.has_limits
    assert (row.limits_origin, row.multiprocessors) == ("datasheet", 132)


@pytest.mark.usefixtures("one_h100")
@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_hidden_gpu_is_not_used(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    """Defect: a job that was given no GPU measures on one."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert [device.type for device in local_devices()] == ["cpu"]


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'", "echo ''"])
def test_a_driver_tool_that_fails_means_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """Defect: a machine with a broken driver cannot even list its kernels."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert [device.type for device in local_devices()] == ["cpu"]


@pytest.mark.parametrize("name", SHEETS)
def test_every_datasheet_is_plausible(name: str) -> None:
    """Defect: a unit slipped, or a narrower type slower than a wider one."""
    device = datasheet_device(name)
    assert device is not None
    assert device.has_limits
    peaks = device.peak_flops
    assert peaks["fp32"] < peaks["bf16"] <= peaks["fp8"] <= peaks["mxfp4"]
    assert peaks["bf16"] <= peaks["fp16"]
    assert 1e13 < peaks["bf16"] < 1e16
    assert 1e11 < device.memory_bytes_per_s < 1e13
    assert 2**34 < device.memory_bytes < 2**39
    assert 10 <= device.multiprocessors <= 256
    assert peaks["bf16"] / device.memory_bytes_per_s > 50


def test_a_gpu_that_is_in_no_datasheet_is_unknown() -> None:
    """Defect: the limits of some other GPU."""
    assert datasheet_device("NVIDIA H100") is None
