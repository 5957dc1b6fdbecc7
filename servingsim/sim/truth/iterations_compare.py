"""Predicted iterations beside measured ones: errors by phase, and how far the engine is from itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.fidelity.figures import figures_of, signed_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.truth.iterations import Iteration, Run
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class StepErrors:
    """Relative errors of iterations, percent.

    Attributes:
        iterations: How many.
        mape_percent: Mean of the absolute errors.
        p50_percent: Their median.
        p95_percent: Their 95th percentile.
        worst_percent: The largest, with its sign.
        worst_at: Which iteration of its run that is.
        total_percent: Of the sum of all of them, with its sign.
    """

    iterations: int
    mape_percent: float
    p50_percent: float
    p95_percent: float
    worst_percent: float
    worst_at: int
    total_percent: float


def step_errors(
    predicted_ms: FloatArray, measured_ms: FloatArray, at: Sequence[int] = ()
) -> StepErrors | None:
    """Errors of predictions; None without any.

    Args:
        predicted_ms: One an iteration.
        measured_ms: Beside it.
        at: Position of each in its run, where they are a part of it.
    """
    error = signed_percent(predicted_ms, measured_ms)
    found = figures_of(error)
    if found is None:
        return None
    worst = int(np.argmax(np.abs(error)))
    return StepErrors(
        iterations=found.points,
        mape_percent=found.mape_percent,
        p50_percent=found.p50_percent,
        p95_percent=found.p95_percent,
        worst_percent=float(error[worst]),
        worst_at=int(at[worst]) if len(at) else worst,
        total_percent=float(predicted_ms.sum() / measured_ms.sum() - 1) * 100,
    )


def errors_by_phase(run: Run, predicted_ms: FloatArray) -> dict[str, StepErrors]:
    """Errors of the iterations of each phase, and of `all`."""
    measured_ms = _durations_ms(run)
    phases = np.array([each.phase for each in run.iterations])
    found = {}
    for name in ("all", *sorted(set(phases.tolist()))):
        mine = np.flatnonzero((phases == name) | (name == "all"))
        errors = step_errors(predicted_ms[mine], measured_ms[mine], mine.tolist())
        if errors is not None:
            found[name] = errors
    return found


def repeats_itself(fitted: Run, judged: Run) -> StepErrors | None:
    """How far one run is from another that computed the same: no prediction can be expected to be nearer.

    None where they computed other batches.
    """
    if [_computed(each) for each in fitted.iterations] != [_computed(each) for each in judged.iterations]:
        return None
    return step_errors(_durations_ms(fitted), _durations_ms(judged))


def _durations_ms(run: Run) -> FloatArray:
    return np.array([each.duration_ms for each in run.iterations])


def _computed(each: Iteration) -> tuple[object, object]:
    return each.prefills, each.decodes
