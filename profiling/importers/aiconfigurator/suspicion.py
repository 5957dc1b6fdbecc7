"""Times that cannot be right: faster than the device can be, or told apart by their own repetition.

Such rows are kept and marked, with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.importers.aiconfigurator.columns import BoolArray, FloatArray, IntArray, Text
from servingsim.timing.work.amount import DTYPE_BYTES, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from profiling.contract import KernelKind
    from profiling.device_row import DeviceRow
    from profiling.importers.aiconfigurator.table import Args

TOLERANCE = 0.9
"""Share of the limit that counts as below it: boost clocks pass the datasheet's rate by a few percent."""
BALANCED_TOLERANCE = 0.8
"""Routings that are called balanced miss an expert here and there."""
MAX_SPREAD = 1.0
"""Repetitions that differ by more than a factor of two."""
UNKNOWN_CACHE_BYTES = 128 * 2**20
"""As large as any L2 so far."""

BELOW_LIMIT = "faster than the device's peak rate or bandwidth allows"
TOO_FEW_EXPERTS = "faster than reading the weights of the experts that balanced routing reaches"
SCATTERED = "repeated measurements differ by more than a factor of two"


def limit_ms(kind: KernelKind, args: Args, device: DeviceRow) -> FloatArray:
    """The least time of each row on the device, 0 where its limits are unknown.

    Compute takes FLOPs / peak. Of the bytes, those that fit in the cache may already lie there, since tables are
    collected by launching one kernel over and over: (bytes - cache) / bandwidth. A collective sends at least half of
    what the ring moves over the link (a switch that reduces needs no more). Of experts only FLOPs are certain: how
    many of them a routing reaches is not in the row.

    Args:
        kind: Whose work model is asked.
        args: Args fields as columns of shape [rows].
        device: Peaks and bandwidths.
    """
    limit = np.zeros(_rows(args))
    for rows, dtype, work in _work_by_dtype(kind, args):
        peak = device.peak_flops.get(dtype, 0.0)
        compute = np.asarray(work.flops) / peak if peak else np.zeros(int(rows.sum()))
        limit[rows] = np.maximum(compute, _transfer_s(kind, work, device)) * 1e3
    return limit


def balanced_experts_ms(args: Args, device: DeviceRow) -> FloatArray:
    """The least time to read the weights of the experts that balanced routing reaches, 0 for other routings.

    Balanced routing gives every expert a row before it gives one a second, so that min(local experts, rows on this
    rank) are read, three matrices each.
    """
    if not device.memory_bytes_per_s:
        return np.zeros(_rows(args))
    value = {
        name: np.asarray(values, np.float64) for name, values in args.items() if not isinstance(values, Text)
    }
    rows = np.floor(value["num_tokens"] * value["topk"] / value["moe_ep_size"])
    reached = np.minimum(np.floor(value["num_experts"] / value["moe_ep_size"]), rows)
    dtype, distribution = args["dtype"], args["distribution"]
    if not isinstance(dtype, Text) or not isinstance(distribution, Text):
        return np.zeros(_rows(args))
    widths = np.array([DTYPE_BYTES.get(name, 0.0) for name in dtype.names])[dtype.codes]
    expert_bytes = 3 * value["hidden_size"] * value["inter_size"] / value["moe_tp_size"] * widths
    balanced = np.array([name == "balanced" for name in distribution.names])[distribution.codes]
    moved = np.maximum(reached * expert_bytes - _cache_bytes(device), 0)
    least: FloatArray = np.where(balanced, moved / device.memory_bytes_per_s * 1e3, 0.0)
    return least


def reasons(
    kind: KernelKind, args: Args, time_ms: FloatArray, spread: FloatArray, device: DeviceRow | None
) -> Mapping[str, BoolArray]:
    """Suspicious rows by reason; a row counts for the first reason that holds."""
    found: dict[str, BoolArray] = {}
    if device is not None:
        found[BELOW_LIMIT] = time_ms < TOLERANCE * limit_ms(kind, args, device)
        if kind.name == "fused_moe":
            found[TOO_FEW_EXPERTS] = time_ms < BALANCED_TOLERANCE * balanced_experts_ms(args, device)
    found[SCATTERED] = spread > MAX_SPREAD
    seen = np.zeros(len(time_ms), dtype=np.bool_)
    for reason, rows in found.items():
        found[reason] = rows & ~seen
        seen |= rows
    return {reason: rows for reason, rows in found.items() if rows.any()}


def _work_by_dtype(kind: KernelKind, args: Args) -> Iterator[tuple[BoolArray, str, Work]]:
    """The work of the rows of each combination of texts: work models take a dtype's name, not a column of them."""
    texts = {name: values for name, values in args.items() if isinstance(values, Text)}
    combined = Text.join(list(texts.values()), lambda *names: "\n".join(names))
    for code, name in enumerate(combined.names):
        rows = combined.codes == code
        fixed: dict[str, Any] = dict(zip(texts, name.split("\n"), strict=True))
        swept = {field: values[rows] for field, values in args.items() if not isinstance(values, Text)}
        yield rows, fixed[kind.dtype_fields["compute"]], kind.work(**swept, **fixed)


def _transfer_s(kind: KernelKind, work: Work, device: DeviceRow) -> FloatArray:
    moved = np.asarray(work.bytes_moved, dtype=np.float64)
    if kind.family == "collective":
        sent = np.asarray(work.bytes_written, dtype=np.float64) / 2
        return sent / device.link_bytes_per_s if device.link_bytes_per_s else np.zeros_like(sent)
    if kind.name == "fused_moe" or not device.memory_bytes_per_s:
        return np.zeros_like(moved)
    uncached: FloatArray = np.maximum(moved - _cache_bytes(device), 0) / device.memory_bytes_per_s
    return uncached


def _cache_bytes(device: DeviceRow) -> int:
    return device.last_level_cache_bytes or UNKNOWN_CACHE_BYTES


def _rows(args: Args) -> int:
    first: IntArray | Text = next(iter(args.values()))
    return len(first.codes) if isinstance(first, Text) else len(first)
