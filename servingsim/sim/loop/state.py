"""The arrays of a simulation: everything that the loop reads and writes, so that it can stop anywhere and go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from servingsim.cluster.state import Cluster
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray
    from servingsim.workers.state import Int32Array, Requests, Workers

# How a run ended.
FINISHED, PAUSED, STUCK = range(3)

# Columns of the counters.
NEXT_ARRIVAL, ITERATIONS, NUM_MOVING, LOGGED, LOGGED_ROWS, NUM_OPEN, SEED, NEXT_TURN = range(8)
COUNTERS = 8
"""`NUM_OPEN`: requests that are neither done nor rejected; `NEXT_TURN`: in a closed loop the request that arrives when
the next one is done; else the number of requests."""

# How attention over prefill chunks is priced: each request alone, or all as one launch by aggregate sizes.
EACH, TOGETHER = range(2)
# How a table is read between its points: on a line between them, or as the next point up.
LINEAR, NEXT_UP = range(2)

# Columns of a pool's host costs.
GRAPH_MS, EAGER_MS, REQUEST_MS, GRAPH_MAX_SEQS, STAGE_SHARE, STAGE_TOKEN_MS = range(6)
ACCEPTANCE, GROUP_FACTOR, FILLING = range(6, 9)
HOST_COLUMNS = 9
"""`GRAPH_MS`, `EAGER_MS`: host time of an iteration that is replayed as a graph (decodes only, at most
`GRAPH_MAX_SEQS`), and of any other; `REQUEST_MS`: for each request in it; `STAGE_SHARE`: share of the model in the
largest pipeline stage; `STAGE_TOKEN_MS`: to hand one token to the next stage; `ACCEPTANCE`: chance that a draft token
is accepted; `GROUP_FACTOR`: on prefill attention where several chunks are one launch; `FILLING`: decodes
that fill the device, 0 where unknown, as the slot input `mixed_requests` takes it."""

# Columns of a pool's modes.
PREFILL_MODE, READING, ONE_LAUNCH, SHARERS = range(4)
MODE_COLUMNS = 4
"""`ONE_LAUNCH`: 1 where the model has attention over both phases in one launch, priced by `mixed_ms`; `SHARERS`:
replicas whose experts lie together, 0 where each has all of its own."""

# Columns of a worker's sums.
(
    BUSY_MS,
    HOST_MS,
    NEW_TOKENS,
    PREFILL_TOKENS,
    SAMPLED_TOKENS,
    PREFILL_PAIRS,
    PREFILL_KEYS,
    DECODE_KEYS,
    KV_BLOCK_MS,
    RUNNING_MS,
    WAITING_MS,
    WORKER_ITERATIONS,
    PEERS_MS,
) = range(13)
SUM_COLUMNS = 13
"""`PREFILL_PAIRS`: query-key pairs of causal prefill; `PREFILL_KEYS`, `DECODE_KEYS`: keys read; `KV_BLOCK_MS`,
`RUNNING_MS`, `WAITING_MS`: blocks in use and requests running and waiting while an iteration ran, times its
milliseconds; `PEERS_MS`: in iterations, waiting for replicas that have more to do."""

# Columns of a lane.
END, STAGE_FREE = range(2)

# Columns of a worker's repeated decode steps.
STEPS_LEFT, STEPS_DONE, KEYS, LONGEST, SORTED, UNDER_WAY = range(6)
STEADY_COLUMNS = 6
"""`STEPS_LEFT`: how often its last iteration can surely be repeated; `STEPS_DONE`: repeats that have ended and that its
requests do not show yet; `KEYS`, `LONGEST`: keys that the next one reads, of all requests and of the longest; `SORTED`:
`steady_order` is filled; `UNDER_WAY`: the iteration under way is a repeat."""

# Columns of a logged iteration.
LOG_BEGIN_MS, LOG_END_MS, LOG_WORKER, LOG_REQUESTS, LOG_PREFILLS, LOG_TOKENS = range(6)
LOG_KV_BLOCKS, LOG_RUNNING, LOG_WAITING = range(6, 9)
LOG_COLUMNS = 9

GAP_BINS_PER_OCTAVE = 64
GAP_OCTAVES = 40
"""Gaps between tokens are counted in bins of 1.1 %, from 1 ns to 18 minutes."""


# Rows of the tables over one count, and of the axes of all tables.
OF_TOKENS, OF_SAMPLES, OF_PREFILL_TOKENS, OF_CONTEXT, OF_PREFILL_CONTEXT = range(5)
COUNT_ROWS = 5
OF_POOLED, OF_GATHERED = range(2)
POOLED_ROWS = 2
CONTEXT_AXIS, BATCH_AXIS, KV_AXIS, CHUNK_AXIS, PREFIX_AXIS = range(5)
MIXED_CHUNK_AXIS, MIXED_PREFIX_AXIS, MIXED_BATCH_AXIS, MIXED_KV_AXIS = range(5, 9)
AXES = 9
"""The last four are of launches over both phases; each begins with 0, a part that is absent."""


class Prices(NamedTuple):
    """What an iteration costs, by pool. `P` pools; tables of pools that need less are padded.

    The sizes of an iteration are looked up in tables; which points it touched is counted in `Visits`, and that is
    enough to say afterwards what every op of the model has cost: the loop need not know the ops.

    Attributes:
        modes: [P, MODE_COLUMNS].
        host: [P, HOST_COLUMNS].
        count_ms: Everything that depends on one count alone: new tokens, sampled positions, new tokens of prefills (by
            the count itself), keys of all requests and of prefills (by the points of the context axis),
            [P, COUNT_ROWS, counts].
        decode_ms: Attention of decode requests by batch size and mean KV length, [P, batches, lengths].
        prefill_ms: Attention of prefill chunks by batch size, new tokens and prefix, [P, batches, chunks, prefixes].
        axes: Points of the axes: context, batch size, KV length, chunk, prefix, and those of `mixed_ms`,
            [P, AXES, points].
        points: How many there are of each, [P, AXES].
        mixed_ms: Attention over both phases in one launch, by the new tokens and the prefix of all chunks as one, and
            the number and mean KV length of the decodes, [P, chunks, prefixes, batches, lengths].
        pooled_ms: What replicas do together, [P, POOLED_ROWS, counts]: compute, by the new tokens of all of them; and
            give to each other, by the tokens of equal batches that make the same link as busy.
    """

    modes: IntArray
    host: FloatArray
    count_ms: FloatArray
    decode_ms: FloatArray
    prefill_ms: FloatArray
    axes: FloatArray
    points: IntArray
    mixed_ms: FloatArray = np.zeros((1, 1, 1, 1, 1))
    pooled_ms: FloatArray = np.zeros((1, 2, 1))


class Visits(NamedTuple):
    """How often each point of the price tables was used, as weights; shapes as in `Prices`."""

    counts: FloatArray
    decode: FloatArray
    prefill: FloatArray
    mixed: FloatArray
    pooled: FloatArray


class Simulation(NamedTuple):
    """All state. `W` workers, `B` iterations under way at once on one (pipeline stages), `R` requests in one.

    Attributes:
        requests: The requests.
        workers: The workers.
        cluster: The pools.
        prices: What iterations cost.
        visits: Which prices were used.
        counters: [COUNTERS].
        clock_ms: The time, [1].
        batch: Request and new tokens of each iteration under way, [W, B, R, 2].
        batch_size: Requests in it, [W, B].
        lanes_ms: When the iteration in each lane ends, infinite where none is under way, and when each pipeline stage
            has done what is planned, [W, B, 2].
        sums: [W, SUM_COLUMNS].
        gaps: Gaps between a request's tokens, counted in bins, [bins].
        steady: [W, STEADY_COLUMNS].
        steady_ms: When each worker's last repeat ended, [W].
        steady_order: Requests that are repeated, by their place in a block, [W, R].
        steady_start: Where those of each place begin, [W, tokens of a block + 2].
        log: Logged iterations, [capacity, LOG_COLUMNS].
        log_rows: Request and new tokens of logged iterations, end to end, [capacity of rows, 2].
    """

    requests: Requests
    workers: Workers
    cluster: Cluster
    prices: Prices
    visits: Visits
    counters: IntArray
    clock_ms: FloatArray
    batch: Int32Array
    batch_size: IntArray
    lanes_ms: FloatArray
    sums: FloatArray
    gaps: IntArray
    steady: IntArray
    steady_ms: FloatArray
    steady_order: Int32Array
    steady_start: Int32Array
    log: FloatArray
    log_rows: Int32Array
