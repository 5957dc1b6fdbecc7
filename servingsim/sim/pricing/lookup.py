"""One iteration priced from the tables alone, without a simulation: the loop's own function on a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.compiled import entry
from servingsim.sim.loop.pricing import kernels_ms, pooled_ms
from servingsim.sim.loop.state import SHARERS, SUM_COLUMNS, Visits
from servingsim.timing.batch import MAX_REQUESTS
from servingsim.workers.state import COMPUTED, DECODING, KNOWN, PREFILLING, REQUEST_COLUMNS, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Prices
    from servingsim.timing.batch import Batch, BoolArray, IntArray
    from servingsim.timing.source import FloatArray
    from servingsim.workers.state import Int32Array


class Lookup:
    """Prices single iterations from one set of tables, microseconds each: make one and ask it often."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        tables = (prices.count_ms, prices.decode_ms, prices.prefill_ms, prices.mixed_ms, prices.pooled_ms)
        self._visits = Visits(*(np.zeros(table.shape) for table in tables))
        self._sums = np.zeros(SUM_COLUMNS)
        self._ints = np.zeros((MAX_REQUESTS, REQUEST_COLUMNS), dtype=np.int32)
        self._plan = np.zeros((MAX_REQUESTS, 3), dtype=np.int32)

    def iteration_ms(self, batch: Batch, pool: int = 0) -> float:
        """Kernel time of an iteration, ms."""
        rows = batch.rows
        return float(
            priced_ms(
                self.prices,
                self._visits,
                self._sums,
                pool,
                self._ints,
                self._plan,
                rows.q_len,
                rows.prefix_len,
                rows.samples,
                rows.kv_len,
            )
        )


@entry
def priced_ms(  # noqa: PLR0913, PLR0917 - arrays one by one: a tuple of read-only ones would be a type of its own
    prices: Prices,
    visits: Visits,
    sums: FloatArray,
    pool: int,
    ints: Int32Array,
    plan: Int32Array,
    q_len: IntArray,
    prefix_len: IntArray,
    samples: BoolArray,
    kv_len: IntArray,
) -> float:
    """Kernel time of an iteration, ms: its rows written down as the loop sees requests, then priced."""
    prefills, count = len(q_len), len(q_len) + len(kv_len)
    for index in range(count):
        plan[index, 0] = index
        if index < prefills:
            plan[index, 1] = q_len[index]
            ints[index, STATE], ints[index, COMPUTED] = PREFILLING, prefix_len[index]
            # A chunk that is not the last of its prompt leaves a token to come.
            ints[index, KNOWN] = prefix_len[index] + q_len[index] + (0 if samples[index] else 1)
        else:
            plan[index, 1] = 1
            ints[index, STATE], ints[index, COMPUTED] = DECODING, kv_len[index - prefills] - 1
    kernel_ms, _prefills = kernels_ms(prices, visits, sums, pool, ints, plan, count)
    every = int(q_len.sum() + len(kv_len)) * int(prices.modes[pool, SHARERS])
    if every > 0:
        kernel_ms += pooled_ms(prices, visits, pool, every, every, 1)
    return kernel_ms
