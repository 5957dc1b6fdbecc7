"""Fidelity of the attention caches on measured H100 rows that they have not seen (vLLM 0.24.0, bf16, no window).

Every table (heads, KV heads, head size) is built from every other value of each axis, the largest kept, and asked at
the points between: context attention over batch size and new tokens, decode attention over batch size and keys. Beside
it the two usual rules through the same points: time linear in the sizes, and log-log linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.h100_rows import BACKEND, DEVICE, Rows, RowSource, attention_rows
from benchmarks.holdout import Errors
from servingsim.timing.cache import CacheContext, Points
from servingsim.timing.caches.linear_2d import CACHE as LINEAR
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelKind
    from servingsim.timing.source import FloatArray

HEADS = ("num_heads", "num_kv_heads", "head_dim")


def measure() -> dict[str, float]:
    """Every figure."""
    return {
        **_figures("context_attention", PREFILL, _as_prefill(attention_rows("context"))),
        **_figures("decode_attention", DECODE, attention_rows("generation").renamed(length="kv_len")),
    }


def _as_prefill(rows: Rows) -> Rows:
    return rows.renamed(length="q_len").with_column("prefix_len", 0)


def _figures(name: str, kind: KernelKind[Any, Any], rows: Rows) -> dict[str, float]:
    tables = np.unique(np.stack([rows.columns[field] for field in HEADS], axis=1), axis=0)
    errors: list[tuple[Errors, Errors, Errors]] = []
    for heads in tables:
        own = rows.where(
            np.logical_and.reduce([rows.columns[f] == v for f, v in zip(HEADS, heads, strict=True)])
        )
        errors.append(_held_out(kind, own, dict(zip(HEADS, map(int, heads), strict=True))))
    ours, linear, loglog = (Errors.together(list(each)) for each in zip(*errors, strict=True))
    return {
        **ours.figures(f"{name}_held_out"),
        **linear.figures(f"{name}_held_out_linear"),
        **loglog.figures(f"{name}_held_out_loglog"),
    }


def _held_out(kind: KernelKind[Any, Any], rows: Rows, heads: dict[str, int]) -> tuple[Errors, Errors, Errors]:
    coords = np.stack([rows.columns[axis] for axis in kind.axes], axis=1).astype(np.float64)
    train = np.logical_and.reduce([np.isin(column, _every_other(column)) for column in coords.T])
    source = RowSource(kind.kind, rows.where(train))
    config = kind.config(gpu_name=DEVICE, backends=(BACKEND,), dtype="bf16", kv_dtype="bf16", **heads)
    answer = Kernel.build(kind.kind, kind, config, source).eval(coords)
    asked = ~train & (answer.flags == 0)
    flat = coords[:, :2]
    linear_ms = _linear(flat[train], rows.time_ms[train], flat[asked])
    logs = _linear(np.log(flat[train]), np.log(rows.time_ms[train] * 1e9), np.log(flat[asked]))
    truth_ms = rows.time_ms[asked]
    return tuple(Errors.of(each, truth_ms) for each in (answer.time_ms[asked], linear_ms, np.exp(logs) / 1e9))  # type: ignore[return-value]


def _every_other(column: FloatArray) -> FloatArray:
    values = np.unique(column)
    return np.append(values[::2], values[-1])


def _linear(coords: FloatArray, values: FloatArray, asked: FloatArray) -> FloatArray:
    def nothing(points: FloatArray) -> FloatArray:
        return np.zeros(len(points))

    context = CacheContext("baseline", ("batch_size", "length"), nothing, nothing)
    return LINEAR.build(Points(coords, values), context).eval(asked)[0]
