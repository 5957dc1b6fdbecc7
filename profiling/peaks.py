"""The limits of a device as measured: the best rate of a matrix product per dtype, the best rate of memory.

Runs in a worker. A limit is the best of many tries, since it has to bound what kernels reach, not what they
average.
"""

from __future__ import annotations

import importlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.contract import Setting

TRY_S = 0.15
"""Time for each dtype and size."""
GEMM_SIZES = (256, 1024, 2048)
TORCH_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
MEMORY_TEST_BYTES = 2**28


@dataclass(frozen=True)
class Limits:
    """Measured FLOP/s per dtype and bytes/s of memory."""

    peak_flops: dict[str, float]
    memory_bytes_per_s: float


def measured_dtypes(*, with_torch: bool) -> frozenset[str]:
    """The dtypes whose peaks `measure` finds."""
    return frozenset(TORCH_DTYPES) if with_torch else frozenset({"fp32"})


def measure(setting: Setting, *, with_torch: bool) -> Limits:
    """Measure a device: with torch where its backends use it, else with numpy, which knows fp32 only."""
    if setting.device_type == "cuda":
        return _with_torch(setting, "cuda")
    if with_torch:
        return _with_torch(setting, "cpu")
    return Limits({"fp32": _best_gemm(_numpy_gemm)}, _cpu_memory_rate(setting))


def _with_torch(setting: Setting, device: str) -> Limits:
    torch = importlib.import_module("torch")

    def gemm(dtype: str, size: int) -> Callable[[], Any]:
        left = torch.ones(size, size, dtype=getattr(torch, dtype), device=device)
        right = torch.ones(size, size, dtype=getattr(torch, dtype), device=device)
        return _synchronised(torch, device, lambda: left @ right)

    if device == "cpu":
        torch.set_num_threads(setting.threads)
    rates = {name: _best_gemm(partial(gemm, dtype)) for name, dtype in TORCH_DTYPES.items()}
    if device == "cpu":
        return Limits(rates, _cpu_memory_rate(setting))
    source = torch.ones(MEMORY_TEST_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = _synchronised(torch, device, lambda: target.copy_(source))
    return Limits(rates, 2 * MEMORY_TEST_BYTES / _shortest_s(copy))


def _synchronised(torch: Any, device: str, call: Callable[[], Any]) -> Callable[[], Any]:  # noqa: ANN401 - untyped
    if device == "cpu":
        return call

    def run() -> None:
        call()
        torch.cuda.synchronize()

    return run


def _numpy_gemm(size: int) -> Callable[[], Any]:
    left, right = np.ones((size, size), np.float32), np.ones((size, size), np.float32)
    return lambda: left @ right


def _best_gemm(prepare: Callable[[int], Callable[[], Any]]) -> float:
    """The best FLOP/s over growing sizes, stopping where one product alone takes too long."""
    best = 0.0
    for size in GEMM_SIZES:
        best = max(best, 2 * size**3 / _shortest_s(prepare(size)))
        if 8 * 2 * size**3 / best > TRY_S:
            break
    return best


def _cpu_memory_rate(setting: Setting) -> float:
    """Bytes/s of all threads together: the better of copying and reading arrays far larger than the cache."""
    wanted_bytes = max(MEMORY_TEST_BYTES, 4 * setting.last_level_cache_bytes)
    share = min(wanted_bytes, setting.free_memory_bytes // 8) // 4 // setting.threads
    sources = [np.ones(share, np.float32) for _ in range(setting.threads)]
    targets = [np.ones(share, np.float32) for _ in range(setting.threads)]
    total = 4 * share * setting.threads
    with ThreadPoolExecutor(setting.threads) as pool:
        copying = _shortest_s(lambda: list(pool.map(np.copyto, targets, sources)))
        reading = _shortest_s(lambda: list(pool.map(np.max, sources)))
    return max(2 * total / copying, total / reading)


def _shortest_s(call: Callable[[], Any]) -> float:
    """The shortest of at least three calls after a warm-up, for about `TRY_S`."""
    call()
    shortest, calls, begin = float("inf"), 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - begin < TRY_S:
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
        calls += 1
    return shortest
