"""Tables of made-up kernels whose times are known by a law, as the fidelity engine takes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from servingsim.timing.fidelity.columns import KernelColumns
from servingsim.timing.fidelity.run import MeasuredTable
from servingsim.timing.registry import kernels
from servingsim.timing.source import ArgValue, DeviceSpec, Provenance

DEVICE = DeviceSpec("dev", {"bf16": 1e15}, memory_bytes_per_s=3e13, memory_bytes=10**11)
Law = Callable[[Mapping[str, float]], float]
MakeTable = Callable[..., MeasuredTable]
HEADS: dict[str, ArgValue] = {"head_dim": 128, "dtype": "bf16", "kv_dtype": "bf16", "window_size": 0}


@pytest.fixture
def decode_table() -> MakeTable:
    """A decode-attention table of several heads; time follows a law of batch_size, kv_len and num_kv_heads."""

    def make(
        law: Law,
        *,
        heads: Sequence[tuple[int, int]] = ((32, 8),),
        batches: Sequence[int] = tuple(2**n for n in range(8)),
        lengths: Sequence[int] = tuple(2**n for n in range(4, 13)),
        untrusted: Callable[[Mapping[str, float]], bool] = lambda _row: False,
    ) -> MeasuredTable:
        rows = [
            {"batch_size": batch, "kv_len": length, "num_heads": many, "num_kv_heads": few, **HEADS}
            for (many, few), batch, length in itertools.product(heads, batches, lengths)
        ]
        columns = KernelColumns(
            kind="attention_decode",
            args={name: np.array([row[name] for row in rows]) for name in kernels()["attention_decode"].args},
            time_ms=np.array([law(row) for row in rows]),  # type: ignore[arg-type]
            noise=np.full(len(rows), np.nan),
            trusted=np.array([not untrusted(row) for row in rows]),  # type: ignore[arg-type]
            provenance=Provenance("measured", "dev", "toy", source="made up"),
        )
        return MeasuredTable(columns, DEVICE)

    return make
