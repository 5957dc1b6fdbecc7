"""One iteration priced from the tables alone, without a simulation: the loop's own function on a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.compiled import entry
from servingsim.sim.loop.pricing import kernels_ms
from servingsim.sim.loop.state import SUM_COLUMNS, Visits
from servingsim.workers.state import COMPUTED, DECODING, KNOWN, PREFILLING, REQUEST_COLUMNS, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Prices
    from servingsim.timing.batch import Batch
    from servingsim.timing.source import FloatArray
    from servingsim.workers.state import Int32Array


class Lookup:
    """Prices single iterations from one set of tables: 10 µs each, so make one and ask it often."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        tables = (prices.count_ms, prices.decode_ms, prices.prefill_ms)
        self._visits = Visits(*(np.zeros(table.shape) for table in tables))
        self._sums = np.zeros(SUM_COLUMNS)

    def iteration_ms(self, batch: Batch, pool: int = 0) -> float:
        """Kernel time of an iteration, ms."""
        return float(priced_ms(self.prices, self._visits, self._sums, pool, *as_plan(batch)))


def as_plan(batch: Batch) -> tuple[Int32Array, Int32Array]:
    """A batch as the loop sees it: rows of requests and the plan over them."""
    rows = batch.rows
    prefills, count = len(rows.q_len), batch.num_requests
    ints = np.zeros((count, REQUEST_COLUMNS), dtype=np.int32)
    plan = np.ones((count, 3), dtype=np.int32)
    plan[:, 0] = np.arange(count)
    plan[:prefills, 1] = rows.q_len
    ints[:prefills, STATE], ints[prefills:, STATE] = PREFILLING, DECODING
    ints[:prefills, COMPUTED], ints[prefills:, COMPUTED] = rows.prefix_len, rows.kv_len - 1
    # A chunk that is not the last of its prompt leaves a token to come.
    ints[:prefills, KNOWN] = rows.prefix_len + rows.q_len + ~rows.samples
    return ints, plan


@entry
def priced_ms(
    prices: Prices, visits: Visits, sums: FloatArray, pool: int, ints: Int32Array, plan: Int32Array
) -> float:
    """Kernel time of a plan, ms."""
    kernel_ms, _prefills = kernels_ms(prices, visits, sums, pool, ints, plan, len(plan))
    return kernel_ms
