"""Points on which launches over both phases are tabulated: four sizes at once, so where the rows were measured.

Between two measured sizes time is read on a line in the prefix, the number of decodes and their length, and the table's
own lines between the same points are the same. Only along the chunk does work bend: there points lie closer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.axes import spaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.pricing.axes import Extent
    from servingsim.timing.engine import Kernel
    from servingsim.timing.source import FloatArray

CHUNK_PER_OCTAVE = 4
MOST_MEASURED = 32
"""Measured sizes along an axis that all become points; of more than that, one an octave."""


def mixed_axes(kernels: Sequence[Kernel], extent: Extent) -> tuple[FloatArray, ...]:
    """Chunk, prefix, number of decodes, their mean length: from 0, a part that is absent, to the largest there can be.

    Args:
        kernels: The model's launches over both phases; without any there are no points.
        extent: How large an iteration gets.
    """
    if not kernels:
        return ()
    # A chunk and its prefix are one request's; several chunks as one may have more new tokens than a request has.
    most = (extent.max_tokens, extent.max_model_len, extent.max_seqs, extent.max_model_len)
    found = [_points(kernels, axis, each) for axis, each in enumerate(most)]
    found[0] = np.union1d(found[0], np.round(spaced(1, extent.max_tokens, CHUNK_PER_OCTAVE)))
    return tuple(found)


def _points(kernels: Sequence[Kernel], axis: int, most: int) -> FloatArray:
    columns = [table.measured[:, axis] for kernel in kernels for table in kernel.tables]
    measured = np.unique(np.concatenate([np.zeros(0), *columns]))
    inside = measured[(measured > 0) & (measured < most)]
    if len(inside) > MOST_MEASURED:
        inside = np.zeros(0)
    octaves = spaced(1, most, 1)
    beyond = octaves[(octaves < inside.min()) | (octaves > inside.max())] if len(inside) else octaves
    return np.unique(np.concatenate([[0.0, 1.0, float(most)], inside, beyond]))
