"""Iterations of a measured run, priced: the kernels of each as the model's tree has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.evaluate import build_model
from servingsim.timing.batch import Batches
from servingsim.worklets.bounds import IterationBounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.options import PredictOptions
    from servingsim.sim.truth.iterations import Iteration
    from servingsim.timing.source import FloatArray, TimingSource


def kernels_ms(
    iterations: Sequence[Iteration],
    model: DenseFacts | TableModel,
    source: TimingSource,
    options: PredictOptions,
) -> FloatArray:
    """Milliseconds of the kernels of each iteration.

    Raises:
        ServingSimError: The model, the device or the limits do not fit together.
    """
    batches = [each.batch() for each in iterations]
    bounds = IterationBounds(
        options.max_num_tokens or max(each.num_tokens for each in batches),
        options.max_num_seqs or max(each.num_requests for each in batches),
        options.max_model_len or max(each.longest_context for each in batches),
    )
    built = build_model(model, bounds, source, options)
    totals = built.arch.evaluate(Batches.of(batches))[0]
    return np.asarray(totals.time_ms, dtype=np.float64)
