"""What an iteration costs: its sizes, looked up in the price tables of its pool.

Each look-up also leaves its weights in `Visits`, so that afterwards the time of each op, its FLOPs, its bytes and the
share that was extrapolated are sums over table points, exact to rounding, at no cost in the loop.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.state import (
    BATCH_AXIS,
    CHUNK_AXIS,
    CONTEXT_AXIS,
    DECODE_KEYS,
    EACH,
    EAGER_MS,
    FILLING,
    GRAPH_MAX_SEQS,
    GRAPH_MS,
    GROUP_FACTOR,
    HOST_MS,
    KEYS,
    KV_AXIS,
    LONGEST,
    MIXED_BATCH_AXIS,
    MIXED_CHUNK_AXIS,
    MIXED_KV_AXIS,
    MIXED_PREFIX_AXIS,
    NEW_TOKENS,
    NEXT_UP,
    OF_CONTEXT,
    OF_GATHERED,
    OF_POOLED,
    OF_PREFILL_CONTEXT,
    OF_PREFILL_TOKENS,
    OF_SAMPLES,
    OF_TOKENS,
    ONE_LAUNCH,
    PREFILL_KEYS,
    PREFILL_MODE,
    PREFILL_PAIRS,
    PREFILL_TOKENS,
    PREFIX_AXIS,
    READING,
    REQUEST_MS,
    SAMPLED_TOKENS,
    SHARERS,
)
from servingsim.timing.slot_inputs import FADES, LATE, WHOLE
from servingsim.workers.state import COMPUTED, DECODING, KNOWN, POOL, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Prices, Simulation, Visits
    from servingsim.timing.source import FloatArray
    from servingsim.workers.state import Int32Array


@compiled
def price(sim: Simulation, worker: int, count: int) -> tuple[float, float, int]:
    """Kernel time and host time of the iteration in `workers.plan[:count]`, ms, and its prefill requests."""
    pool, sums = int(sim.workers.ints[worker, POOL]), sim.sums[worker]
    ints, plan = sim.requests.ints, sim.workers.plan
    kernel_ms, prefills = kernels_ms(sim.prices, sim.visits, sums, pool, ints, plan, count)
    return kernel_ms, _host_ms(sim, worker, count, prefills), prefills


@compiled
def price_again(sim: Simulation, worker: int, decodes: int) -> tuple[float, float]:
    """Kernel time and host time of a worker's last iteration once more: decodes alone, one new token each, ms."""
    pool, steady = int(sim.workers.ints[worker, POOL]), sim.steady[worker]
    keys, longest = int(steady[KEYS]), int(steady[LONGEST])
    kernel_ms = _decodes_alone_ms(
        sim.prices, sim.visits, sim.sums[worker], pool, decodes, decodes, decodes, keys, longest
    )
    return kernel_ms, _host_ms(sim, worker, decodes, 0)


@compiled
def pooled_ms(prices: Prices, visits: Visits, pool: int, tokens: int, gathered: int, replicas: int) -> float:
    """What replicas do together: compute so many tokens, and give each other so many; `replicas` of them spend it."""
    visits.pooled[pool, OF_POOLED, tokens] += replicas
    visits.pooled[pool, OF_GATHERED, gathered] += replicas
    time_ms: float = prices.pooled_ms[pool, OF_POOLED, tokens] + prices.pooled_ms[pool, OF_GATHERED, gathered]
    return time_ms


@compiled
def pooled_alone_ms(sim: Simulation, worker: int, tokens: int) -> float:
    """The same for a replica whose peers are not simulated with it: each is taken to have a batch like its own."""
    pool = int(sim.workers.ints[worker, POOL])
    every = tokens * int(sim.prices.modes[pool, SHARERS])
    return pooled_ms(sim.prices, sim.visits, pool, every, every, 1) if every > 0 else 0.0


@compiled
def _host_ms(sim: Simulation, worker: int, count: int, prefills: int) -> float:
    host = sim.prices.host[int(sim.workers.ints[worker, POOL])]
    graph = prefills == 0 and count <= host[GRAPH_MAX_SEQS]
    host_ms: float = (host[GRAPH_MS] if graph else host[EAGER_MS]) + count * host[REQUEST_MS]
    sim.sums[worker, HOST_MS] += host_ms
    return host_ms


@compiled
def kernels_ms(
    prices: Prices,
    visits: Visits,
    sums: FloatArray,
    pool: int,
    ints: Int32Array,
    plan: Int32Array,
    count: int,
) -> tuple[float, int]:
    """Kernel time of the iteration in `plan[:count]`, ms, and its prefill requests; counted in `visits` and `sums`."""
    tokens, sampled, prefills, keys_of_all, pairs = 0, 0, 0, 0, 0.0
    decode_tokens, decode_keys, longest = 0, 0, 0
    for index in range(count):
        request, new = plan[index, 0], int(plan[index, 1])
        tokens += new
        keys = int(ints[request, COMPUTED]) + new
        keys_of_all += keys
        if ints[request, STATE] == DECODING:
            sampled += new
            decode_tokens += new
            decode_keys += keys
            longest = max(longest, keys)
        else:
            prefills += 1
            sampled += keys >= ints[request, KNOWN]
            pairs += new * (keys - new) + new * (new + 1) * 0.5
            sums[PREFILL_KEYS] += keys
    decodes = count - prefills
    if prefills == 0:
        return (
            _decodes_alone_ms(prices, visits, sums, pool, decodes, tokens, sampled, decode_keys, longest),
            0,
        )
    sums[PREFILL_PAIRS] += pairs
    sums[NEW_TOKENS] += tokens
    sums[PREFILL_TOKENS] += tokens - decode_tokens
    sums[SAMPLED_TOKENS] += sampled
    sums[DECODE_KEYS] += decode_keys
    kernel_ms = prices.count_ms[pool, OF_TOKENS, tokens] + prices.count_ms[pool, OF_SAMPLES, sampled]
    visits.counts[pool, OF_TOKENS, tokens] += 1.0
    visits.counts[pool, OF_SAMPLES, sampled] += 1.0
    if prices.points[pool, CONTEXT_AXIS] > 0:
        kernel_ms += _context_ms(prices, visits, pool, OF_CONTEXT, keys_of_all)
        kernel_ms += _context_ms(prices, visits, pool, OF_PREFILL_CONTEXT, keys_of_all - decode_keys)
    kernel_ms += prices.count_ms[pool, OF_PREFILL_TOKENS, tokens - decode_tokens]
    visits.counts[pool, OF_PREFILL_TOKENS, tokens - decode_tokens] += 1.0
    if decodes > 0:
        kernel_ms += _decode_ms(prices, visits, pool, decodes, decode_keys)
    if prices.modes[pool, PREFILL_MODE] == EACH:
        kernel_ms += _prefill_each_ms(prices, visits, pool, ints, plan, count, prefills)
    else:
        kernel_ms += _prefill_together_ms(prices, visits, pool, ints, plan, count, prefills)
    if prices.modes[pool, ONE_LAUNCH]:
        chunk, prefix = _as_one_chunk(float(tokens - decode_tokens), pairs)
        kernel_ms += _one_launch_ms(prices, visits, pool, chunk, prefix, decodes, decode_keys, longest)
    return kernel_ms, prefills


@compiled
def _decodes_alone_ms(
    prices: Prices,
    visits: Visits,
    sums: FloatArray,
    pool: int,
    decodes: int,
    tokens: int,
    sampled: int,
    keys: int,
    longest: int,
) -> float:
    """Kernel time of an iteration without a prefill, ms."""
    sums[NEW_TOKENS] += tokens
    sums[SAMPLED_TOKENS] += sampled
    sums[DECODE_KEYS] += keys
    kernel_ms: float = prices.count_ms[pool, OF_TOKENS, tokens] + prices.count_ms[pool, OF_SAMPLES, sampled]
    visits.counts[pool, OF_TOKENS, tokens] += 1.0
    visits.counts[pool, OF_SAMPLES, sampled] += 1.0
    if prices.points[pool, CONTEXT_AXIS] > 0:
        kernel_ms += _context_ms(prices, visits, pool, OF_CONTEXT, keys)
    if prices.modes[pool, ONE_LAUNCH]:
        kernel_ms += _one_launch_ms(prices, visits, pool, 0.0, 0.0, decodes, keys, longest)
    return kernel_ms + _decode_ms(prices, visits, pool, decodes, keys)


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
def _context_ms(prices: Prices, visits: Visits, pool: int, row: int, keys: int) -> float:
    """What depends on the keys of all requests (a cache that is copied to grow) or of prefills (latents expanded)."""
    points = prices.points[pool, CONTEXT_AXIS]
    low, upper = point(prices.axes[pool, CONTEXT_AXIS], points, keys, prices.modes[pool, READING])
    visits.counts[pool, row, low] += 1.0 - upper
    time_ms: float = (1.0 - upper) * prices.count_ms[pool, row, low]
    if upper > 0.0:
        visits.counts[pool, row, low + 1] += upper
        time_ms += upper * prices.count_ms[pool, row, low + 1]
    return time_ms


@compiled
def _decode_ms(prices: Prices, visits: Visits, pool: int, decodes: int, keys: int) -> float:
    """Attention of the decode requests, by their number and mean length."""
    reading = prices.modes[pool, READING]
    # A table that is read at the next point up is one over whole lengths.
    length = float(keys // decodes) if reading == NEXT_UP else keys / decodes
    batch, batch_upper = point(
        prices.axes[pool, BATCH_AXIS], prices.points[pool, BATCH_AXIS], decodes, reading
    )
    kv, kv_upper = point(prices.axes[pool, KV_AXIS], prices.points[pool, KV_AXIS], length, reading)
    time_ms = 0.0
    for step in range(2 if batch_upper > 0.0 else 1):
        share = batch_upper if step else 1.0 - batch_upper
        lower, upper = share * (1.0 - kv_upper), share * kv_upper
        visits.decode[pool, batch + step, kv] += lower
        time_ms += lower * prices.decode_ms[pool, batch + step, kv]
        if upper > 0.0:
            visits.decode[pool, batch + step, kv + 1] += upper
            time_ms += upper * prices.decode_ms[pool, batch + step, kv + 1]
    return time_ms


@compiled
def _prefill_each_ms(
    prices: Prices, visits: Visits, pool: int, ints: Int32Array, plan: Int32Array, count: int, prefills: int
) -> float:
    """Attention of prefill chunks, each as its share of a launch of as many like itself."""
    time_ms = 0.0
    for index in range(count):
        request, new = plan[index, 0], plan[index, 1]
        if ints[request, STATE] != DECODING:
            time_ms += _prefill_ms(
                prices, visits, pool, prefills, new, ints[request, COMPUTED], 1.0 / prefills
            )
    return time_ms


@compiled
def _prefill_together_ms(
    prices: Prices, visits: Visits, pool: int, ints: Int32Array, plan: Int32Array, count: int, prefills: int
) -> float:
    """Attention of prefill chunks as one launch: prefixes summed, its chunk the root of their summed squares."""
    squares, prefix = 0, 0
    for index in range(count):
        request, new = plan[index, 0], int(plan[index, 1])
        if ints[request, STATE] != DECODING:
            squares += new * new
            prefix += int(ints[request, COMPUTED])
    factor = prices.host[pool, GROUP_FACTOR] if prefills > 1 else 1.0
    return _prefill_ms(prices, visits, pool, 1, round(float(squares) ** 0.5), prefix, factor)


@compiled
def _prefill_ms(
    prices: Prices, visits: Visits, pool: int, batch_size: int, new: int, prefix: int, weight: float
) -> float:
    reading = prices.modes[pool, READING]
    points, axes = prices.points[pool], prices.axes[pool]
    batch, batch_upper = point(axes[BATCH_AXIS], points[BATCH_AXIS], batch_size, reading)
    chunk, chunk_upper = point(axes[CHUNK_AXIS], points[CHUNK_AXIS], new, reading)
    begin, begin_upper = point(axes[PREFIX_AXIS], points[PREFIX_AXIS], prefix, reading)
    time_ms = 0.0
    for batch_step in range(2 if batch_upper > 0.0 else 1):
        of_batch = weight * (batch_upper if batch_step else 1.0 - batch_upper)
        for chunk_step in range(2 if chunk_upper > 0.0 else 1):
            of_chunk = of_batch * (chunk_upper if chunk_step else 1.0 - chunk_upper)
            for begin_step in range(2 if begin_upper > 0.0 else 1):
                share = of_chunk * (begin_upper if begin_step else 1.0 - begin_upper)
                at_batch, at_chunk, at_begin = batch + batch_step, chunk + chunk_step, begin + begin_step
                visits.prefill[pool, at_batch, at_chunk, at_begin] += share
                time_ms += share * prices.prefill_ms[pool, at_batch, at_chunk, at_begin]
    return time_ms


@compiled
def _as_one_chunk(tokens: float, pairs: float) -> tuple[float, float]:
    """New tokens and prefix of all prefill chunks as one, as the slot input `mixed_requests` sees them."""
    fresh = tokens * (tokens + 1.0) * 0.5
    if pairs < fresh:
        return (math.sqrt(1.0 + 8.0 * pairs) - 1.0) * 0.5, 0.0
    return tokens, (pairs - fresh) / tokens


@compiled
def _one_launch_ms(
    prices: Prices,
    visits: Visits,
    pool: int,
    new: float,
    prefix: float,
    decodes: int,
    keys: int,
    longest: int,
) -> float:
    """Attention of all requests as one launch, at the decodes' mean length, and what the longest one takes beyond.

    As the slot input `mixed_requests` says it.
    """
    mean = keys / decodes if decodes > 0 else 0.0
    if longest <= mean:
        return _mixed_ms(prices, visits, pool, new, prefix, decodes, mean, 1.0)
    if new == 0.0:
        filling = prices.host[pool, FILLING]
        if filling == 0.0 or decodes < WHOLE * filling:
            return _mixed_ms(prices, visits, pool, 0.0, 0.0, decodes, mean, 1.0)
        late = LATE * (filling / decodes) ** FADES
        time_ms = _mixed_ms(prices, visits, pool, 0.0, 0.0, decodes, mean, 1.0 - late)
        return time_ms + _mixed_ms(prices, visits, pool, 0.0, 0.0, decodes, float(longest), late)
    time_ms = _mixed_ms(prices, visits, pool, new, prefix, decodes, mean, 1.0)
    time_ms += _mixed_ms(prices, visits, pool, 1.0, 0.0, 1, float(longest), 1.0)
    time_ms += _mixed_ms(prices, visits, pool, 1.0, 0.0, 1, mean, -1.0)
    return time_ms


@compiled
def _mixed_ms(
    prices: Prices,
    visits: Visits,
    pool: int,
    new: float,
    prefix: float,
    decodes: int,
    length: float,
    weight: float,
) -> float:
    """Attention of all requests as one launch: a part that is absent lies on the first point of its axes, 0."""
    reading, points, axes = prices.modes[pool, READING], prices.points[pool], prices.axes[pool]
    at_new, new_upper = point(axes[MIXED_CHUNK_AXIS], points[MIXED_CHUNK_AXIS], new, reading)
    at_prefix, prefix_upper = point(axes[MIXED_PREFIX_AXIS], points[MIXED_PREFIX_AXIS], prefix, reading)
    at_batch, batch_upper = point(axes[MIXED_BATCH_AXIS], points[MIXED_BATCH_AXIS], decodes, reading)
    at_kv, kv_upper = point(axes[MIXED_KV_AXIS], points[MIXED_KV_AXIS], length, reading)
    time_ms = 0.0
    for new_step in range(2 if new_upper > 0.0 else 1):
        of_new = weight * (new_upper if new_step else 1.0 - new_upper)
        for prefix_step in range(2 if prefix_upper > 0.0 else 1):
            of_prefix = of_new * (prefix_upper if prefix_step else 1.0 - prefix_upper)
            prefix_table = prices.mixed_ms[pool, at_new + new_step, at_prefix + prefix_step]
            used = visits.mixed[pool, at_new + new_step, at_prefix + prefix_step]
            for batch_step in range(2 if batch_upper > 0.0 else 1):
                of_batch = of_prefix * (batch_upper if batch_step else 1.0 - batch_upper)
                for kv_step in range(2 if kv_upper > 0.0 else 1):
                    share = of_batch * (kv_upper if kv_step else 1.0 - kv_upper)
                    used[at_batch + batch_step, at_kv + kv_step] += share
                    time_ms += share * prefix_table[at_batch + batch_step, at_kv + kv_step]
    return time_ms
