"""Small kernels and devices whose times can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from servingsim.timing.cache import Cache, CacheContext, Points
from servingsim.timing.registry import caches
from servingsim.timing.source import DeviceSpec, FloatArray, MemorySource

Build = Callable[..., Cache]

DEVICE = DeviceSpec(
    "dev", {"bf16": 1e14}, memory_bytes_per_s=1e11, memory_bytes=10**10, link_bytes_per_s=1e10
)


@pytest.fixture
def build() -> Build:
    """Build a cache by name; work is the sum of the coordinates unless given, the limit 0."""

    def make(
        name: str,
        points: dict[tuple[float, ...], float],
        axes: tuple[str, ...] = ("m",),
        *,
        work: Callable[[FloatArray], FloatArray] = lambda at: at.sum(axis=1),
        limit: Callable[[FloatArray], FloatArray] = lambda at: np.zeros(len(at)),
        floor_ms: float = 0.0,
    ) -> Cache:
        context = CacheContext("toy [b on dev]", axes, work, limit, floor_ms, remedy="run it")
        given = Points(np.array(list(points), dtype=float), np.array(list(points.values())))
        return caches()[name].build(given, context)

    return make


@pytest.fixture
def source() -> MemorySource:
    """No rows, one device: 100 TFLOP/s, 100 GB/s, no last-level cache."""
    return MemorySource({"dev": DEVICE})
