"""Where a prediction of captured steps goes wrong: op by op, phase by phase."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class OpTimes:
    """One op in one step, all its launches: as predicted and as captured.

    Attributes:
        phase: Of the step.
        op: Path in the model.
        predicted_ms: By the model.
        captured_ms: By the capture, each launch counted as its typical one.
        first_use_ms: What launches took beyond that: a library preparing itself for a new shape, or disturbance.
    """

    phase: str
    op: str
    predicted_ms: float
    captured_ms: float
    first_use_ms: float = 0.0


@dataclass(frozen=True)
class OpError:
    """One op of one phase.

    Attributes:
        phase: `prefill`, `decode` or `mixed`.
        op: Path in the model.
        steps: Captured steps that hold it.
        predicted_ms: Of one step, on average.
        captured_ms: Of one step, on average.
        first_use_ms: Of one step, on average; in neither of the two.
        error_ms: Predicted minus captured.
        share_of_phase: Part of the phase's absolute errors that is this op's, 0 to 1.
    """

    phase: str
    op: str
    steps: int
    predicted_ms: float
    captured_ms: float
    first_use_ms: float
    error_ms: float
    share_of_phase: float

    @property
    def error_percent(self) -> float:
        """Relative, with its sign; NaN where nothing was captured."""
        return self.error_ms / self.captured_ms * 100 if self.captured_ms else float("nan")


def attribute(times: Iterable[OpTimes]) -> list[OpError]:
    """Errors by op and phase, the largest of a phase first."""
    found: dict[tuple[str, str], list[OpTimes]] = defaultdict(list)
    for each in times:
        found[each.phase, each.op].append(each)
    wrong = {key: _means(each) for key, each in found.items()}
    sums: dict[str, float] = defaultdict(float)
    for (phase, _), (predicted_ms, captured_ms, _) in wrong.items():
        sums[phase] += abs(predicted_ms - captured_ms)
    errors = [
        OpError(
            phase,
            op,
            len(found[phase, op]),
            predicted_ms,
            captured_ms,
            first_use_ms,
            predicted_ms - captured_ms,
            abs(predicted_ms - captured_ms) / sums[phase] if sums[phase] else 0.0,
        )
        for (phase, op), (predicted_ms, captured_ms, first_use_ms) in wrong.items()
    ]
    return sorted(errors, key=lambda each: (each.phase, -abs(each.error_ms)))


def _means(times: list[OpTimes]) -> tuple[float, float, float]:
    count = len(times)
    return (
        sum(each.predicted_ms for each in times) / count,
        sum(each.captured_ms for each in times) / count,
        sum(each.first_use_ms for each in times) / count,
    )
