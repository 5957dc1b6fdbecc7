"""How far the loop's tables are from the model itself: the same iterations priced both ways.

A report carries this figure, so that nobody has to believe that the points were dense enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.lookup import Lookup
from servingsim.timing.batch import Batch, Batches

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Prices
    from servingsim.sim.pricing.axes import Extent
    from servingsim.sim.pricing.leaves import Arch

PROBES = 64


@dataclass(frozen=True)
class TableError:
    """Difference of the tables to the model over random iterations, as a share of the model's time.

    Attributes:
        probes: Iterations priced.
        mean: Mean of the absolute differences.
        p95: 95th percentile.
        worst: Largest.
    """

    probes: int
    mean: float
    p95: float
    worst: float


def table_error(
    arch: Arch, prices: Prices, extent: Extent, *, pool: int = 0, probes: int = PROBES, seed: int = 0
) -> TableError:
    """Price random iterations within the extent with the tables and with the model."""
    rng = np.random.default_rng(seed)
    batches = [_iteration(rng, extent) for _ in range(probes)]
    totals, _logs = arch.evaluate(Batches.of(batches))
    lookup = Lookup(prices)
    tables = np.array([lookup.iteration_ms(batch, pool) for batch in batches])
    off = np.abs(tables / totals.time_ms - 1)
    return TableError(probes, float(off.mean()), float(np.quantile(off, 0.95)), float(off.max()))


def _iteration(rng: np.random.Generator, extent: Extent) -> Batch:
    """Decodes of any lengths, and in half of the cases a few prefill chunks in what is left of the budget."""
    decodes = int(rng.integers(1, min(extent.max_seqs, extent.max_tokens) + 1))
    lengths = np.exp(rng.uniform(0, np.log(extent.max_model_len), decodes)).astype(int) + 1
    chunks: list[tuple[int, int, bool]] = []
    left = min(extent.max_tokens - decodes, extent.max_model_len)
    for _ in range(int(rng.integers(0, 3))):
        if left < 1 or len(chunks) + decodes >= extent.max_seqs:
            break
        chunk = int(np.exp(rng.uniform(0, np.log(left + 1))))
        chunk = max(1, min(chunk, left))
        prefix = int(rng.integers(0, max(extent.max_model_len - chunk, 1)))
        chunks.append((chunk, prefix, bool(rng.integers(2))))
        left -= chunk
    return Batch.of(prefill=chunks, decode=[int(min(each, extent.max_model_len)) for each in lengths])
