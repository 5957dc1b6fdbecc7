"""Gaps between a request's tokens, counted in bins of equal ratio: percentiles of ITL without a list of all gaps."""

from __future__ import annotations

import math

from servingsim.compiled import compiled
from servingsim.sim.loop.state import GAP_BINS_PER_OCTAVE, GAP_OCTAVES


@compiled
def gap_bin(gap_ms: float) -> int:
    """The bin of a gap: octave of nanoseconds and its place in it."""
    fraction, octave = math.frexp(gap_ms * 1e6)
    if octave < 1:
        return 0
    place = int((fraction - 0.5) * (2 * GAP_BINS_PER_OCTAVE))
    return int(min((octave - 1) * GAP_BINS_PER_OCTAVE + place, GAP_OCTAVES * GAP_BINS_PER_OCTAVE - 1))
