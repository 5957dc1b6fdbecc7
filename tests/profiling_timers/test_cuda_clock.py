"""The CUDA timer: its refusal without a GPU, and its figures with one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from profiling.contract import Launch, Setting
from profiling.registry import backends, kinds, missing_modules
from profiling.timers import time_launch
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from types import ModuleType

GPU = Setting(device_type="cuda", threads=0, last_level_cache_bytes=50 * 2**20, free_memory_bytes=2**33)


@pytest.fixture
def cuda_torch() -> ModuleType:
    torch: ModuleType = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch


def test_without_a_gpu_the_timer_says_so() -> None:
    """Events of a device that is not there fail deep inside the driver."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ServingSimError, match="no CUDA device") as refused:
        time_launch(Launch(calls=[lambda: None]), GPU, budget_s=0.1)
    assert refused.value.code == "E_NO_GPU"


@pytest.mark.gpu
def test_a_large_product_takes_no_less_than_its_flops(cuda_torch: ModuleType) -> None:
    """Events around an asynchronous launch that miss the kernel would give microseconds."""
    del cuda_torch
    args = {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16"}
    timing = time_launch(backends()["single_gemm", "torch"].prepare(GPU, **args), GPU, budget_s=1.0)
    assert 2 * 8192**3 / (timing.median_ms / 1e3) < 3e15
    assert not timing.outlier


@pytest.mark.gpu
def test_a_short_launch_does_not_cost_what_the_host_takes_to_issue_it(cuda_torch: ModuleType) -> None:
    """Ten microseconds of Python around a kernel of two would be stored as the kernel's time."""
    x = cuda_torch.zeros(1024, device="cuda")
    launch = Launch(calls=[partial(cuda_torch.add, x, 1.0)] * 64, scope=cuda_torch.inference_mode)
    assert time_launch(launch, GPU, budget_s=0.5).median_ms < 5e-3


@pytest.mark.gpu
def test_a_launch_that_waits_for_the_device_is_timed_without_a_graph(cuda_torch: ModuleType) -> None:
    """A capture that fails must fall back, not end the run."""
    x = cuda_torch.zeros(16, device="cuda")
    launch = Launch(calls=[lambda: x.sum().item()] * 4)
    assert 0 < time_launch(launch, GPU, budget_s=0.2).median_ms < 1.0


@pytest.mark.gpu
@pytest.mark.parametrize(("kind", "name"), [key for key, b in backends().items() if "cuda" in b.devices])
def test_every_backend_runs_its_smoke_spec_on_the_gpu(cuda_torch: ModuleType, kind: str, name: str) -> None:
    """Backends of a GPU are written where there is none."""
    del cuda_torch
    runner, smoke = backends()[kind, name], kinds()[kind].smoke
    if runner.supports(**smoke) or missing_modules(runner):
        pytest.skip("not for this backend here")
    try:
        launch = runner.prepare(GPU, **smoke)
    except ServingSimError as error:
        if error.code == "E_LIMIT":  # one GPU has no peer
            pytest.skip(error.what)
        raise
    assert time_launch(launch, GPU, budget_s=0.2).median_ms > 0
