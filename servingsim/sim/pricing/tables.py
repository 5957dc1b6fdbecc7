"""Leaf tables of every pool, summed to the loop's price tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import (
    ACCEPTANCE,
    AXES,
    BATCH_AXIS,
    CHUNK_AXIS,
    CONTEXT_AXIS,
    COUNT_ROWS,
    EACH,
    EAGER_MS,
    FILLING,
    GRAPH_MAX_SEQS,
    GRAPH_MS,
    GROUP_FACTOR,
    HOST_COLUMNS,
    KV_AXIS,
    LINEAR,
    MIXED_CHUNK_AXIS,
    MODE_COLUMNS,
    OF_CONTEXT,
    OF_PREFILL_CONTEXT,
    OF_PREFILL_TOKENS,
    OF_SAMPLES,
    OF_TOKENS,
    ONE_LAUNCH,
    POOLED_ROWS,
    PREFILL_MODE,
    PREFIX_AXIS,
    READING,
    REQUEST_MS,
    SHARERS,
    STAGE_SHARE,
    STAGE_TOKEN_MS,
    Prices,
)
from servingsim.sim.pricing.leaves import POOLED_ROW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.pricing.axes import Axes, Extent
    from servingsim.sim.pricing.leaves import Family, LeafTable
    from servingsim.timing.source import FloatArray

COUNT_ROW: dict[Family, int] = {
    "tokens": OF_TOKENS,
    "samples": OF_SAMPLES,
    "prefill_tokens": OF_PREFILL_TOKENS,
    "context": OF_CONTEXT,
    "prefill_context": OF_PREFILL_CONTEXT,
}


@dataclass(frozen=True)
class HostCosts:
    """What an iteration costs beside its kernels, milliseconds; all 0: nothing is modelled, and reports say so.

    Attributes:
        graph_ms: An iteration replayed as a graph: decodes only, at most `graph_max_seqs` of them.
        eager_ms: Any other iteration.
        request_ms: For each request in an iteration.
        graph_max_seqs: Largest decode batch that was captured as a graph.
        source: Where the figures come from.
    """

    graph_ms: float = 0.0
    eager_ms: float = 0.0
    request_ms: float = 0.0
    graph_max_seqs: int = 512
    source: str = "not modelled"


@dataclass(frozen=True)
class PoolPrices:
    """What one pool's iterations cost.

    Attributes:
        leaves: Its model, tabulated.
        extent: How large an iteration gets.
        axes: The points.
        host: Beside the kernels.
        stage_share: Share of the model in the largest pipeline stage.
        stage_token_ms: To hand one token to the next stage.
        acceptance: Chance that a draft token is accepted.
        filling: Decodes that fill the device in a launch over both phases; 0: unknown.
    """

    leaves: tuple[LeafTable, ...]
    extent: Extent
    axes: Axes
    host: HostCosts
    stage_share: float = 1.0
    stage_token_ms: float = 0.0
    acceptance: float = 0.0
    filling: float = 0.0

    @property
    def sharers(self) -> int:
        """Replicas whose experts lie together; 0 where each computes all of its own."""
        return self.extent.sharers if any(leaf.family in POOLED_ROW for leaf in self.leaves) else 0


def price_tables(pools: Sequence[PoolPrices]) -> Prices:
    """The tables of all pools, padded to one shape."""
    counts = max(_longest_count(pool) for pool in pools)
    batches, lengths, chunks, prefixes = (
        max(len(getattr(pool.axes, axis)) for pool in pools) for axis in ("batch", "kv", "chunk", "prefix")
    )
    contexts = max(len(pool.axes.context) for pool in pools)
    mixed = [
        max((len(pool.axes.mixed[axis]) for pool in pools if pool.axes.mixed), default=1) for axis in range(4)
    ]
    number = len(pools)
    prices = Prices(
        modes=np.zeros((number, MODE_COLUMNS), dtype=np.int64),
        host=np.zeros((number, HOST_COLUMNS)),
        count_ms=np.zeros((number, COUNT_ROWS, counts)),
        decode_ms=np.zeros((number, batches, lengths)),
        prefill_ms=np.zeros((number, batches, chunks, prefixes)),
        axes=np.zeros((number, AXES, max(batches, lengths, chunks, prefixes, contexts, *mixed))),
        points=np.zeros((number, AXES), dtype=np.int64),
        mixed_ms=np.zeros((number, *mixed)),
        pooled_ms=np.zeros(
            (number, POOLED_ROWS, max(pool.extent.max_tokens * pool.sharers for pool in pools) + 1)
        ),
    )
    for index, pool in enumerate(pools):
        _fill(prices, index, pool)
    return prices


def _fill(prices: Prices, index: int, pool: PoolPrices) -> None:
    prices.modes[index, PREFILL_MODE], prices.modes[index, READING] = EACH, LINEAR
    host = prices.host[index]
    host[GRAPH_MS], host[EAGER_MS], host[REQUEST_MS] = (
        pool.host.graph_ms,
        pool.host.eager_ms,
        pool.host.request_ms,
    )
    host[GRAPH_MAX_SEQS], host[GROUP_FACTOR], host[ACCEPTANCE] = (
        pool.host.graph_max_seqs,
        1.0,
        pool.acceptance,
    )
    host[STAGE_SHARE], host[STAGE_TOKEN_MS], host[FILLING] = (
        pool.stage_share,
        pool.stage_token_ms,
        pool.filling,
    )
    by_context = any(leaf.family in {"context", "prefill_context"} for leaf in pool.leaves)
    named: list[tuple[int, FloatArray]] = [
        (CONTEXT_AXIS, pool.axes.context if by_context else np.zeros(0)),
        (BATCH_AXIS, pool.axes.batch),
        (KV_AXIS, pool.axes.kv),
        (CHUNK_AXIS, pool.axes.chunk),
        (PREFIX_AXIS, pool.axes.prefix),
        *((MIXED_CHUNK_AXIS + place, values) for place, values in enumerate(pool.axes.mixed)),
    ]
    prices.modes[index, ONE_LAUNCH], prices.modes[index, SHARERS] = bool(pool.axes.mixed), pool.sharers
    for axis, values in named:
        prices.axes[index, axis, : len(values)], prices.points[index, axis] = values, len(values)
    for leaf in pool.leaves:
        shape = tuple(slice(size) for size in leaf.time_ms.shape)
        if leaf.family == "decode":
            prices.decode_ms[index][shape] += leaf.time_ms
        elif leaf.family == "prefill":
            prices.prefill_ms[index][shape] += leaf.time_ms
        elif leaf.family == "mixed":
            prices.mixed_ms[index][shape] += leaf.time_ms
        elif leaf.family in POOLED_ROW:
            prices.pooled_ms[index, POOLED_ROW[leaf.family]][shape] += leaf.time_ms
        else:
            prices.count_ms[index, COUNT_ROW[leaf.family]][shape] += leaf.time_ms


def _longest_count(pool: PoolPrices) -> int:
    return max(pool.extent.max_tokens, pool.extent.max_samples, len(pool.axes.context)) + 1
