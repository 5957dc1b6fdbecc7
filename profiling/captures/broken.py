"""Durations that cannot be true: found by what the stream around them says, so that no sum takes them in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAULTS = (
    "",
    "a duration of zero",
    "a negative duration",
    "no start time",
    "a duration that reaches over the next launch of its stream",
)
"""By the index in `Launches.broken`."""
ZERO, NEGATIVE, NO_START, OVERLAP = 1, 2, 3, 4
TOLERATED_NS = 5_000
"""Overlap that launches of one stream really have: a dependent launch starts while its predecessor drains (up to 4 us
seen on a B200), and old files round to microseconds."""
TOLERATED_SHARE = 0.25
"""Of its own duration, for a launch that still ends before the next one does: 19 % seen on an H100."""
NEVER_ZERO_NS = 10**9
"""A file whose clock reads more than this in the middle does not begin at 0."""


def broken(
    start_ns: NDArray[np.int64], duration_ns: NDArray[np.int64], stream_keys: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], int]:
    """Judge every launch.

    Args:
        start_ns: Of each.
        duration_ns: Of each.
        stream_keys: One number for each stream of each process and device.

    Returns:
        The fault of each, and how many sound ones overlap the next a little.
    """
    faults = np.zeros(len(start_ns), np.uint8)
    faults[duration_ns == 0] = ZERO
    faults[duration_ns < 0] = NEGATIVE
    if len(start_ns) and np.median(start_ns) > NEVER_ZERO_NS:
        faults[(start_ns <= 0) & (faults == 0)] = NO_START
    sound = np.flatnonzero(faults == 0)
    order = sound[np.lexsort((-duration_ns[sound], start_ns[sound], stream_keys[sound]))]
    slight = _mark_overlaps(start_ns, duration_ns, stream_keys, order, faults)
    return faults, slight


def _mark_overlaps(
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    stream_keys: NDArray[np.int64],
    order: NDArray[np.intp],
    faults: NDArray[np.uint8],
) -> int:
    """Mark launches that reach over the next of their stream.

    Returns:
        How many overlap it by as little as real ones do.
    """
    first, second = order[:-1], order[1:]
    same = stream_keys[first] == stream_keys[second]
    first, second = first[same], second[same]
    ends = start_ns + duration_ns
    over = ends[first] - start_ns[second]
    swallowed = ends[first] > ends[second] + TOLERATED_NS
    much = over > TOLERATED_NS
    part = over > TOLERATED_SHARE * duration_ns[first]
    twice = (start_ns[first] == start_ns[second]) & (ends[first] == ends[second])
    bad = (much & (swallowed | part)) | twice
    faults[first[bad]] = OVERLAP
    return int(((over > 0) & ~bad).sum())
