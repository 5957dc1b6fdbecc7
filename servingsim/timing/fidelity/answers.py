"""Held-out answers of a kernel beside what was measured and what the usual rule says: arrays, nothing judged yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import CoverageError
from servingsim.timing.engine import Kernel
from servingsim.timing.fidelity.loglog import loglog_ms

if TYPE_CHECKING:
    from servingsim.timing.cache import FlagArray
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.fidelity.columns import BoolArray, ColumnSource, Group
    from servingsim.timing.fidelity.splits import Split
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Answers:
    """One Config's held-out rows [asked], and what each rule said about them.

    Attributes:
        fixed: The Config's own args fields.
        coords: What was asked [asked, axes].
        truth_ms: Measured.
        time_ms: The kernel's own answer.
        error: Half width of its 90 % interval, relative; NaN where it says none.
        flags: Its coverage flags.
        baseline_ms: Log-log linear through the same points, NaN where that rule cannot be asked.
        limit_ms: The device's physical limit, NaN where none is known.
        compute_bound: Whether FLOPs take longer than traffic at the device's peaks.
        fit_points: Rows of this Config that the fit read; 0 where others gave theirs.
    """

    fixed: dict[str, Any]
    coords: FloatArray
    truth_ms: FloatArray
    time_ms: FloatArray
    error: FloatArray
    flags: FlagArray
    baseline_ms: FloatArray
    limit_ms: FloatArray
    compute_bound: BoolArray
    fit_points: int

    def __len__(self) -> int:
        return len(self.truth_ms)


def config_of(kind: KernelKind[Any, Any], device: str, backend: str, fixed: dict[str, Any]) -> KernelConfig:
    """The Config of a group of rows."""
    config: KernelConfig = kind.config(gpu_name=device, backends=(backend,), **fixed)
    return config


def coords_of(source: ColumnSource, group: Group) -> FloatArray:
    """Coordinates of a group's rows [rows, axes]."""
    return np.stack(
        [source.columns.args[axis][group.rows].astype(np.float64) for axis in source.kind.axes], axis=1
    )


def ask_split(source: ColumnSource, config: KernelConfig, group: Group, split: Split) -> Answers | None:
    """Fit a group's rows in sight and ask for those of the split; None where nothing can be fitted or asked.

    The caller hides what is asked, in this group and in every other, so that no cache learns it from elsewhere.
    An outlier is no truth to judge by; in the fit it is what the source makes of it.
    """
    asked = split.asked & source.columns.trusted[group.rows]
    if not asked.any():
        return None
    coords, time_ms = coords_of(source, group), source.columns.time_ms[group.rows]
    baseline_ms = loglog_ms(coords[split.kept], time_ms[split.kept], coords[asked])
    return asked_of(source, config, group, asked, baseline_ms, int(split.kept.sum()))


def asked_of(
    source: ColumnSource,
    config: KernelConfig,
    group: Group,
    asked: BoolArray,
    baseline_ms: FloatArray,
    fit_points: int,
) -> Answers | None:
    """What the kernel says about some rows of a group; None where its rows in sight say nothing.

    Args:
        source: Its rows in sight are the fit.
        config: Of the group.
        group: Rows of one Config.
        asked: Which of them are asked for [rows of the group].
        baseline_ms: What the usual rule says [asked].
        fit_points: Rows of the group that are in sight.
    """
    coords = coords_of(source, group)[asked]
    try:
        kernel = Kernel.build(source.kind.kind, source.kind, config, source)
        answer = kernel.eval(coords)
    except CoverageError:
        return None
    return Answers(
        fixed=dict(group.fixed),
        coords=coords,
        truth_ms=source.columns.time_ms[group.rows][asked],
        time_ms=answer.time_ms,
        error=answer.error,
        flags=answer.flags,
        baseline_ms=baseline_ms,
        limit_ms=kernel.limit_ms(coords),
        compute_bound=_compute_bound(kernel, coords),
        fit_points=fit_points,
    )


def _compute_bound(kernel: Kernel, coords: FloatArray) -> BoolArray:
    limits, work = kernel.limits, kernel.work(coords)
    flops, moved = (
        np.broadcast_to(np.asarray(amount, dtype=np.float64), len(coords))
        for amount in (work.flops, work.bytes_moved)
    )
    # Half of what moves goes each way over a link.
    bytes_per_s = 2 * limits.link_bytes_per_s or limits.memory_bytes_per_s
    if not limits.flops_per_s or not bytes_per_s:
        return np.zeros(len(coords), dtype=bool)
    bound: BoolArray = flops / limits.flops_per_s > moved / bytes_per_s
    return bound
