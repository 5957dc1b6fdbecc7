"""A machine with a small cache, so that operands rotate through little memory and the tests stay quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from profiling.contract import Launch, Setting
from profiling.registry import backends

if TYPE_CHECKING:
    from torch import Tensor

Prepare = Callable[..., Launch]


@pytest.fixture
def small_cpu() -> Setting:
    """One thread, a last-level cache of a quarter mebibyte, half a gibibyte free."""
    return Setting(device_type="cpu", threads=1, last_level_cache_bytes=2**18, free_memory_bytes=2**29)


@pytest.fixture
def prepare(small_cpu: Setting) -> Prepare:
    """Prepare a shape of a kind, with the backend torch unless another is named."""
    pytest.importorskip("torch")
    known = backends()

    def prepared(kind: str, backend: str = "torch", **args: int | str) -> Launch:
        runner = known[kind, backend]
        assert runner.supports(**args) == ""
        return runner.prepare(small_cpu, **args)

    return prepared


@pytest.fixture
def close() -> Callable[[Tensor, Tensor, str], None]:
    """Compare a result with a reference in fp32, as closely as the dtype allows."""
    torch = pytest.importorskip("torch")
    tolerance = {"fp32": 1e-4, "bf16": 4e-2, "fp16": 6e-3}

    def compare(result: Tensor, reference: Tensor, dtype: str) -> None:
        assert result.shape == reference.shape
        error = (result.float() - reference).abs().max()
        assert error <= tolerance[dtype] * max(1.0, float(reference.abs().max())), float(error)
        assert torch.isfinite(result).all()

    return compare
