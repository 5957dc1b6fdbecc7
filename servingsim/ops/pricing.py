"""A slot's coordinates to its metrics: the one place where an op asks its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.cost_tree import Evaluator, LeafMetrics
from servingsim.timing.cost_tree.metrics import BYTES_MOVED, FLOPS, NUM_METRICS, TIME_MS

if TYPE_CHECKING:
    from servingsim.timing.engine import Kernel, KernelEval
    from servingsim.timing.slot_inputs import SlotCoords
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class SlotLog:
    """What a report can say about one slot: where its kernel was asked, and what it answered."""

    name: str
    kernel: Kernel
    points: SlotCoords
    answer: KernelEval

    def error_ms(self) -> FloatArray:
        """Half width of the slot's time, [iterations]: answers of one kernel are wrong together, so they add."""
        half: FloatArray = weighted(self.points, self.answer.time_ms * self.answer.error)
        return half


def push_priced(ev: Evaluator, name: str, kernel: Kernel, points: SlotCoords) -> None:
    """Ask the kernel at every point and fill the next slot with the weighted sums (INV-2).

    Points of one iteration collapse into the one slot, whatever their number (INV-1).
    """
    answer = kernel.eval(points.coords)
    work = kernel.work(points.coords)
    values = np.zeros((NUM_METRICS, points.iterations))
    values[TIME_MS] = weighted(points, answer.time_ms)
    values[FLOPS] = weighted(points, work.flops)
    values[BYTES_MOVED] = weighted(points, work.bytes_moved)
    flags = np.zeros(points.iterations, dtype=np.uint8)
    np.bitwise_or.at(flags, points.iteration, answer.flags)
    ev.push(name, LeafMetrics(values, flags), lambda: SlotLog(name, kernel, points, answer))


def weighted(points: SlotCoords, per_point: Any) -> Any:  # noqa: ANN401 - a scalar or an array of numbers
    """Sum of a per-point quantity times the points' weights, shape [iterations]."""
    weights = np.asarray(per_point, dtype=np.float64) * points.weights
    return np.bincount(points.iteration, weights=weights, minlength=points.iterations)


def described(kernel: Kernel) -> str:
    """A kernel's static identity in words, for the manifest: the args that its Config fixes."""
    return " ".join(f"{name}={value}" for name, value in kernel.kind.fixed(kernel.config).items())
