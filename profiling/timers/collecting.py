"""How many samples to take: until the median is known well enough, or the budget is spent."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from profiling.timers.samples import clean_ms, relative_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.timers.samples import Sample

    Draw = Callable[[int], list[Sample]]

GOOD_ERROR = 0.01
"""Relative standard error of the median that ends the sampling."""
MIN_SPAN_S = 0.05
"""Samples are spread over so long at least, or the budget: one moment's clock rate is not the figure."""
GROWTH = 0.5
"""Samples of the next round relative to those that are there."""


def collect(draw: Draw, *, budget_s: float, min_samples: int) -> list[Sample]:
    """Draw samples.

    Args:
        draw: Takes so many samples and returns them.
        budget_s: When to stop however good they are.
        min_samples: Taken even where the budget does not cover them.
    """
    begin_s = time.perf_counter()
    samples = draw(min_samples)
    while True:
        spent_s = time.perf_counter() - begin_s
        affordable = int((budget_s - spent_s) * len(samples) / max(spent_s, 1e-9))
        if affordable < 1 or (spent_s >= MIN_SPAN_S and _good(samples, min_samples)):
            return samples
        samples += draw(min(affordable, math.ceil(GROWTH * len(samples))))


def _good(samples: list[Sample], min_samples: int) -> bool:
    clean = clean_ms(samples)
    return len(clean) >= min_samples and relative_error(clean) < GOOD_ERROR
