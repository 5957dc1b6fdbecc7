"""When a device ran nothing: between launches of one step, whatever the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.capture import Gap
from profiling.captures.sequence import launches_of, main_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiling.captures.capture import Capture


def longest_gaps(capture: Capture, step: int, limit: int) -> list[Gap]:
    """See `Capture.gaps`."""
    launches = capture.launches
    places = launches_of(capture, step)
    places = places[launches.broken[places] == 0]
    starts, ends = launches.start_ns[places], launches.start_ns[places] + launches.duration_ns[places]
    if len(places) < 2:
        return []
    reached = np.maximum.accumulate(ends)
    idle = starts[1:] - reached[:-1]
    device = main_device(capture, step)
    chosen = [at for at in np.argsort(-idle, kind="stable")[:limit] if idle[at] > 0]
    return [
        Gap(
            step,
            device,
            launches.names[launches.name[places[_last_end(ends, reached, int(at))]]],
            launches.names[launches.name[places[at + 1]]],
            int(reached[at]),
            int(idle[at]),
        )
        for at in chosen
    ]


def busy_and_wall(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[int, int]:
    """Time covered by intervals sorted by start, and from the first start to the last end."""
    if not len(starts):
        return 0, 0
    reached = np.maximum.accumulate(ends)
    idle = np.maximum(starts[1:] - reached[:-1], 0)
    wall = int(reached[-1] - starts[0])
    return wall - int(idle.sum()), wall


def _last_end(ends: NDArray[np.int64], reached: NDArray[np.int64], at: int) -> int:
    """Which launch ended last before a gap."""
    return int(np.flatnonzero(ends[: at + 1] == reached[at])[0])
