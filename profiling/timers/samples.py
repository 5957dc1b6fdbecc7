"""Samples of one launch: how well they fix its median, and what makes them untrustworthy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.row import Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DRIFT = 0.15
"""Between the medians of the first and the last third, relative to the median of all."""
DRIFT_ERRORS = 3.0
"""Standard errors of that difference which noise alone hardly ever exceeds."""
MAX_SPREAD = 2.0
"""Of the 90th over the 10th percentile."""
MIN_CLEAN = 3
FENCE = 1.5
"""Distances between the quartiles beyond which a sample is a straggler (Tukey)."""
QUARTILES_PER_SIGMA = 1.349
"""Width between the quartiles of a normal distribution, in standard deviations."""
MEDIAN_ERROR = 1.2533
"""Standard error of a median over that of a mean, for normal samples: the root of pi / 2."""


@dataclass(frozen=True)
class Sample:
    """One sample.

    Attributes:
        ms: Milliseconds a launch.
        clean: False where the process is known to have waited for a core meanwhile.
    """

    ms: float
    clean: bool = True


def clean_ms(samples: Sequence[Sample]) -> list[float]:
    """The samples that nothing is known to have disturbed."""
    return [sample.ms for sample in samples if sample.clean]


def relative_error(samples_ms: Sequence[float]) -> float:
    """Standard error of the median relative to it; from the quartiles, which stragglers do not move."""
    low, median, high = np.percentile(samples_ms, (25, 50, 75))
    sigma = (high - low) / QUARTILES_PER_SIGMA
    return float(MEDIAN_ERROR * sigma / np.sqrt(len(samples_ms)) / median) if median > 0 else 0.0


def judged(samples: Sequence[Sample]) -> Timing:
    """Statistics of the clean samples, of all where too few are, with what speaks against them."""
    clean = clean_ms(samples)
    reasons = []
    if len(clean) < min(MIN_CLEAN, len(samples)):
        waited = len(samples) - len(clean)
        reasons.append(f"the process waited for a core in {waited} of {len(samples)} samples")
        clean = [sample.ms for sample in samples]
    p10, median, p90 = (float(value) for value in np.percentile(clean, (10, 50, 90)))
    reasons += filter(None, (_drift(clean, median), _spread(p10, p90)))
    return Timing(
        median_ms=median,
        p10_ms=p10,
        p90_ms=p90,
        cv=_variation(clean),
        samples=len(clean),
        outlier=bool(reasons),
        outlier_reason="; ".join(reasons),
    )


def better(first: Timing, second: Timing) -> Timing:
    """The one to believe: one that nothing speaks against, else the faster, as disturbances only add time."""
    if first.outlier != second.outlier:
        return second if first.outlier else first
    return min(first, second, key=lambda timing: timing.median_ms)


def _variation(samples_ms: Sequence[float]) -> float:
    """Coefficient of variation without those beyond Tukey's fences: a single straggler would decide it."""
    low, high = np.percentile(samples_ms, (25, 75))
    reach = FENCE * (high - low)
    kept = [ms for ms in samples_ms if low - reach <= ms <= high + reach]
    return float(np.std(kept) / np.mean(kept)) if np.mean(kept) > 0 else 0.0


def _drift(samples_ms: Sequence[float], median_ms: float) -> str:
    """Samples that moved: their outer thirds are farther apart than the limit, and than noise puts them."""
    third = len(samples_ms) // 3
    if third < 2:
        return ""
    first, last = np.asarray(samples_ms[:third]), np.asarray(samples_ms[-third:])
    moved = float(np.median(last) - np.median(first)) / median_ms
    within = np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / third) / median_ms
    if abs(moved) > max(MAX_DRIFT, DRIFT_ERRORS * MEDIAN_ERROR * within):
        return f"drift: the last third of the samples differs from the first by {moved:+.0%}"
    return ""


def _spread(p10_ms: float, p90_ms: float) -> str:
    if p90_ms > MAX_SPREAD * p10_ms:
        return f"spread: the 90th percentile is {p90_ms / p10_ms:.1f} times the 10th"
    return ""
