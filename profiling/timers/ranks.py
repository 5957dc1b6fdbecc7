"""Timing of launches that several processes make together: they hold the clocks, the slowest one counts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from profiling.timers.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.timers.collecting import Draw

WARM_UP_LAUNCHES = 3


@contextmanager
def clock(sample: Callable[[int], list[float]]) -> Iterator[Draw]:
    """Draws samples from ranks that time themselves; the first launches connect them and are thrown away."""
    sample(WARM_UP_LAUNCHES)
    yield lambda count: [Sample(ms) for ms in sample(count)]
