"""What an iteration costs: its sizes, looked up in the price tables of its pool.

Each look-up also leaves its weights in `Visits`, so that afterwards the time of each op, its FLOPs, its bytes and the
share that was extrapolated are sums over table points, exact to rounding, at no cost in the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.state import (
    DECODE_KEYS,
    EACH,
    EAGER_MS,
    GRAPH_MAX_SEQS,
    GRAPH_MS,
    GROUP_FACTOR,
    HOST_MS,
    NEW_TOKENS,
    NEXT_UP,
    PREFILL_KEYS,
    PREFILL_MODE,
    PREFILL_PAIRS,
    PREFILL_TOKENS,
    READING,
    REQUEST_MS,
    SAMPLED_TOKENS,
)
from servingsim.workers.state import COMPUTED, DECODING, KNOWN, POOL, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation
    from servingsim.timing.source import FloatArray

CONTEXT_AXIS, BATCH_AXIS, KV_AXIS, CHUNK_AXIS, PREFIX_AXIS = range(5)


@compiled
def price(sim: Simulation, worker: int, count: int) -> tuple[float, float, int]:
    """Kernel time and host time of the iteration in `workers.plan[:count]`, ms, and its prefill requests."""
    ints, plan = sim.requests.ints, sim.workers.plan
    pool = int(sim.workers.ints[worker, POOL])
    sums = sim.sums[worker]
    tokens, sampled, prefills, decode_tokens, decode_keys = 0, 0, 0, 0, 0
    for index in range(count):
        request, new = plan[index, 0], int(plan[index, 1])
        tokens += new
        keys = int(ints[request, COMPUTED]) + new
        if ints[request, STATE] == DECODING:
            sampled += new
            decode_tokens += new
            decode_keys += keys
        else:
            prefills += 1
            sampled += keys >= ints[request, KNOWN]
            sums[PREFILL_PAIRS] += new * (keys - new) + new * (new + 1) * 0.5
            sums[PREFILL_KEYS] += keys
    decodes = count - prefills
    sums[NEW_TOKENS] += tokens
    sums[PREFILL_TOKENS] += tokens - decode_tokens
    sums[SAMPLED_TOKENS] += sampled
    sums[DECODE_KEYS] += decode_keys
    prices, visits = sim.prices, sim.visits
    kernel_ms = prices.token_ms[pool, tokens] + prices.sample_ms[pool, sampled]
    visits.token[pool, tokens] += 1.0
    visits.sample[pool, sampled] += 1.0
    if prices.counts[pool, CONTEXT_AXIS] > 0:
        kernel_ms += _context_ms(sim, pool, count)
    if decodes > 0:
        kernel_ms += _decode_ms(sim, pool, decodes, decode_keys)
    if prefills > 0 and prices.modes[pool, PREFILL_MODE] == EACH:
        kernel_ms += _prefill_each_ms(sim, pool, count, prefills)
    elif prefills > 0:
        kernel_ms += _prefill_together_ms(sim, pool, count, prefills)
    host = prices.host[pool]
    graph = prefills == 0 and count <= host[GRAPH_MAX_SEQS]
    host_ms = (host[GRAPH_MS] if graph else host[EAGER_MS]) + count * host[REQUEST_MS]
    sums[HOST_MS] += host_ms
    return kernel_ms, host_ms, prefills


@compiled
def point(axis: FloatArray, points: int, value: float, reading: int) -> tuple[int, float]:
    """Where a value lies on an axis of ascending points: the point below it and the weight of the next one up.

    Reading `NEXT_UP`, it is the first point that is not below the value, with weight 0 for the one behind it. Values
    beyond an end lie on it.
    """
    low, high = 0, points - 1
    while low < high:
        middle = (low + high + 1) // 2
        if axis[middle] <= value:
            low = middle
        else:
            high = middle - 1
    if low == points - 1 or value <= axis[low]:
        return low, 0.0
    if reading == NEXT_UP:
        return low + 1, 0.0
    return low, (value - axis[low]) / (axis[low + 1] - axis[low])


@compiled
def _context_ms(sim: Simulation, pool: int, count: int) -> float:
    """What depends on the keys of all requests: a cache that is copied to grow."""
    prices, keys = sim.prices, 0
    for index in range(count):
        keys += int(sim.requests.ints[sim.workers.plan[index, 0], COMPUTED]) + int(sim.workers.plan[index, 1])
    points = prices.counts[pool, CONTEXT_AXIS]
    low, upper = point(prices.context[pool], points, keys, prices.modes[pool, READING])
    sim.visits.context[pool, low] += 1.0 - upper
    time_ms = (1.0 - upper) * prices.context_ms[pool, low]
    if upper > 0.0:
        sim.visits.context[pool, low + 1] += upper
        time_ms += upper * prices.context_ms[pool, low + 1]
    return time_ms


@compiled
def _decode_ms(sim: Simulation, pool: int, decodes: int, keys: int) -> float:
    """Attention of the decode requests, by their number and mean length."""
    prices, reading = sim.prices, sim.prices.modes[pool, READING]
    # A table that is read at the next point up is one over whole lengths.
    length = float(keys // decodes) if reading == NEXT_UP else keys / decodes
    batch, batch_upper = point(prices.batch[pool], prices.counts[pool, BATCH_AXIS], decodes, reading)
    kv, kv_upper = point(prices.kv[pool], prices.counts[pool, KV_AXIS], length, reading)
    time_ms = 0.0
    for step in range(2 if batch_upper > 0.0 else 1):
        share = batch_upper if step else 1.0 - batch_upper
        lower, upper = share * (1.0 - kv_upper), share * kv_upper
        sim.visits.decode[pool, batch + step, kv] += lower
        time_ms += lower * prices.decode_ms[pool, batch + step, kv]
        if upper > 0.0:
            sim.visits.decode[pool, batch + step, kv + 1] += upper
            time_ms += upper * prices.decode_ms[pool, batch + step, kv + 1]
    return time_ms


@compiled
def _prefill_each_ms(sim: Simulation, pool: int, count: int, prefills: int) -> float:
    """Attention of prefill chunks, each as its share of a launch of as many like itself."""
    ints, plan = sim.requests.ints, sim.workers.plan
    time_ms = 0.0
    for index in range(count):
        request, new = plan[index, 0], plan[index, 1]
        if ints[request, STATE] != DECODING:
            time_ms += _prefill_ms(sim, pool, prefills, new, ints[request, COMPUTED], 1.0 / prefills)
    return time_ms


@compiled
def _prefill_together_ms(sim: Simulation, pool: int, count: int, prefills: int) -> float:
    """Attention of prefill chunks as one launch: prefixes summed, the root of the chunks' summed squares as its chunk."""
    ints, plan = sim.requests.ints, sim.workers.plan
    squares, prefix = 0, 0
    for index in range(count):
        request, new = plan[index, 0], int(plan[index, 1])
        if ints[request, STATE] != DECODING:
            squares += new * new
            prefix += int(ints[request, COMPUTED])
    factor = sim.prices.host[pool, GROUP_FACTOR] if prefills > 1 else 1.0
    return _prefill_ms(sim, pool, 1, round(float(squares) ** 0.5), prefix, factor)


@compiled
def _prefill_ms(sim: Simulation, pool: int, batch_size: int, new: int, prefix: int, weight: float) -> float:
    prices, reading = sim.prices, sim.prices.modes[pool, READING]
    counts = prices.counts[pool]
    batch, batch_upper = point(prices.batch[pool], counts[BATCH_AXIS], batch_size, reading)
    chunk, chunk_upper = point(prices.chunk[pool], counts[CHUNK_AXIS], new, reading)
    begin, begin_upper = point(prices.prefix[pool], counts[PREFIX_AXIS], prefix, reading)
    time_ms = 0.0
    for batch_step in range(2 if batch_upper > 0.0 else 1):
        of_batch = weight * (batch_upper if batch_step else 1.0 - batch_upper)
        for chunk_step in range(2 if chunk_upper > 0.0 else 1):
            of_chunk = of_batch * (chunk_upper if chunk_step else 1.0 - chunk_upper)
            for begin_step in range(2 if begin_upper > 0.0 else 1):
                share = of_chunk * (begin_upper if begin_step else 1.0 - begin_upper)
                at_batch, at_chunk, at_begin = batch + batch_step, chunk + chunk_step, begin + begin_step
                sim.visits.prefill[pool, at_batch, at_chunk, at_begin] += share
                time_ms += share * prices.prefill_ms[pool, at_batch, at_chunk, at_begin]
    return time_ms
