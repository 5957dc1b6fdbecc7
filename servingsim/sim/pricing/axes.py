"""Points of the axes on which a model's times are tabulated for the loop.

Counts of tokens are tabulated one by one. Attention depends on two or three sizes, too many combinations: there the
points are every whole number up to a few, then a fixed number an octave, and between them times are read on a line;
`check.py` says how far that is from asking the kernels themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

EVERY_BATCH = 16
"""Batch sizes up to here are points of their own."""
BATCH_PER_OCTAVE, KV_PER_OCTAVE, CHUNK_PER_OCTAVE, PREFIX_PER_OCTAVE, CONTEXT_PER_OCTAVE = 8, 16, 8, 6, 16


@dataclass(frozen=True)
class Extent:
    """How large an iteration can get.

    Attributes:
        max_tokens: New tokens.
        max_seqs: Requests.
        max_model_len: Tokens of one request.
        draft_tokens: Draft tokens of a decode step.
        sharers: Replicas whose experts lie together.
    """

    max_tokens: int
    max_seqs: int
    max_model_len: int
    draft_tokens: int = 0
    sharers: int = 1

    @property
    def max_samples(self) -> int:
        """Positions that are sampled at most."""
        return min(self.max_tokens, self.max_seqs * (1 + self.draft_tokens))


@dataclass(frozen=True)
class Axes:
    """Ascending points, each axis from its least value to the largest that an iteration can have."""

    context: FloatArray
    batch: FloatArray
    kv: FloatArray
    chunk: FloatArray
    prefix: FloatArray
    mixed: tuple[FloatArray, ...] = ()
    """Of launches over both phases, see `mixed_axes`; empty where the model has none."""


def axes_of(extent: Extent) -> Axes:
    """The points for iterations of up to this extent."""
    longest_chunk = min(extent.max_tokens, extent.max_model_len)
    batch = spaced(1, extent.max_seqs, BATCH_PER_OCTAVE)
    every = np.arange(1, min(EVERY_BATCH, extent.max_seqs) + 1, dtype=np.float64)
    return Axes(
        context=spaced(1, extent.max_seqs * extent.max_model_len, CONTEXT_PER_OCTAVE),
        batch=np.unique(np.concatenate([every, np.round(batch)])),
        kv=spaced(1, extent.max_model_len, KV_PER_OCTAVE),
        chunk=np.unique(np.round(spaced(1, longest_chunk, CHUNK_PER_OCTAVE))),
        prefix=np.unique(
            np.concatenate([[0.0], np.round(spaced(1, extent.max_model_len, PREFIX_PER_OCTAVE))])
        ),
    )


def spaced(least: int, most: int, per_octave: int) -> FloatArray:
    """Powers of two and `per_octave - 1` points between each two; both ends included."""
    octaves = max(int(np.ceil(np.log2(max(most, 1) / least))), 0)
    points = least * 2.0 ** (np.arange(octaves * per_octave + 1) / per_octave)
    return np.unique(np.concatenate([points[points < most], [float(most)]]))
