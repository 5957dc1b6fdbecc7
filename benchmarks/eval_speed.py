"""Speed of leaf evaluations: one at a time from Python, one at a time in compiled code, and many at once."""

from __future__ import annotations

import resource
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from servingsim.timing.cache import CacheContext, Points
from servingsim.timing.caches.work_nd import CACHE as WORK_ND
from servingsim.timing.engine import Kernel
from servingsim.timing.interpolation import SCRATCH_COLUMNS, Table, eval_point
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_decode import AttentionDecodeConfig
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.source import FloatArray

MANY = 1_000_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def measure() -> dict[str, float]:
    """Every figure: leaf evaluations per second of a decode-attention kernel, and of tables of growing size."""
    kernel = _decode_kernel()
    coords = _queries(MANY)
    one = coords[:1]
    cache = kernel.tables[0].cache
    work_ms, limit_ms = np.ones(MANY), np.zeros(MANY)
    python_s = _seconds(lambda: [kernel.eval(one) for _ in range(2_000)]) / 2_000
    compiled_s = _seconds(lambda: _one_by_one(cache.table, coords, work_ms, limit_ms)) / MANY  # type: ignore[attr-defined]
    kernel_s = _seconds(lambda: kernel.eval(coords)) / MANY
    table_s = _seconds(lambda: cache.try_eval(coords, work_ms, limit_ms)) / MANY
    return {
        "leaf_evals_per_s_python_one": 1 / python_s,
        "leaf_evals_per_s_compiled_one": 1 / compiled_s,
        "leaf_evals_per_s_vectorised": 1 / kernel_s,
        "leaf_evals_per_s_vectorised_table_only": 1 / table_s,
        **_growth(),
        "peak_memory_mib": _peak_memory_mib(),
    }


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_by_one(table: Table, coords: FloatArray, work_ms: FloatArray, limit_ms: FloatArray) -> float:
    """As a simulator's loop asks: one point after the other, nothing kept."""
    scratch = np.empty((table.order.size, SCRATCH_COLUMNS))
    total_ms = 0.0
    for i in range(coords.shape[0]):
        time_ms, _ = eval_point(table, coords[i], work_ms[i], limit_ms[i], scratch)
        total_ms += time_ms
    return total_ms


def _decode_kernel() -> Kernel:
    """Two axes, 140 points: the size of a measured decode table."""
    source = MemorySource({"dev": DeviceSpec("dev", {"bf16": 1e15}, 3e12, 10**11)})
    heads: dict[str, Any] = {
        "num_heads": 32,
        "num_kv_heads": 8,
        "head_dim": 128,
        "dtype": "bf16",
        "kv_dtype": "bf16",
    }
    for batch_size in 2 ** np.arange(10):
        for kv_len in 2 ** np.arange(4, 18):
            time_ms = 0.01 + 4e-9 * float(batch_size * kv_len) * 8 * 128
            args = {"batch_size": int(batch_size), "kv_len": int(kv_len), "window_size": 0, **heads}
            source.add("attention_decode", "dev", "toy", args, time_ms)
    return Kernel.build("decode", DECODE, AttentionDecodeConfig(gpu_name="dev", **heads), source)


def _queries(count: int) -> FloatArray:
    random = np.random.default_rng(0)
    return np.stack([random.uniform(1, 512, count), random.uniform(16, 2**17, count)], axis=1)


def _growth() -> dict[str, float]:
    """Cost of an evaluation and of building against the number of points: the search is binary."""
    figures = {}
    for size in SIZES:
        side = round(size**0.5)
        axis = np.geomspace(1, 1e6, side)
        coords = np.stack([each.ravel() for each in np.meshgrid(axis, axis, indexing="ij")], axis=1)
        context = CacheContext("growth", ("a", "b"), lambda at: at.prod(axis=1), lambda at: np.zeros(len(at)))
        begin = time.perf_counter()
        cache = WORK_ND.build(Points(coords, 1 + coords.prod(axis=1)), context)
        built_s = time.perf_counter() - begin
        asked = np.random.default_rng(0).uniform(1, 1e6, (200_000, 2))
        ones, zeros = np.ones(len(asked)), np.zeros(len(asked))
        each_s = _seconds(lambda: cache.try_eval(asked, ones, zeros)) / len(asked)  # noqa: B023 - called at once
        figures[f"leaf_eval_ns_at_{size}_points"] = each_s * 1e9
        figures[f"table_build_ms_at_{size}_points"] = built_s * 1e3
    return figures


def _seconds(call: Callable[[], object]) -> float:
    """The best of three, after one call that compiles."""
    call()
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def _peak_memory_mib() -> float:
    """Largest resident memory of the process so far (kilobytes on Linux, bytes on macOS)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)
