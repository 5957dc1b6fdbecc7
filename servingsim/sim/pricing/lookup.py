"""One iteration priced from the tables alone, without a simulation: the loop's own function on a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.compiled import entry
from servingsim.sim.loop.pricing import batch_ms
from servingsim.workers.state import COMPUTED, DECODING, KNOWN, PREFILLING, REQUEST_COLUMNS, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Prices
    from servingsim.timing.batch import Batch
    from servingsim.workers.state import Int32Array


def iteration_ms(prices: Prices, batch: Batch, pool: int = 0) -> float:
    """Kernel time of an iteration, ms."""
    ints, plan = as_plan(batch)
    return float(priced_ms(prices, pool, ints, plan))


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
def priced_ms(prices: Prices, pool: int, ints: Int32Array, plan: Int32Array) -> float:
    """Kernel time of a plan, ms; nothing is counted."""
    return batch_ms(prices, pool, ints, plan)
