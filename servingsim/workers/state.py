"""Requests and workers as flat arrays: what a column means, and an empty state to begin with.

A request is one row of `RequestInts` (64 bytes, a cache line) and one row of times; a worker is one row of settings
and counters. Rows instead of objects let one compiled function walk a million requests in under 1 KB each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray

Int32Array = npt.NDArray[np.int32]

NONE = -1
"""No request, no worker, no block."""
UNSET_MS = -1.0
"""A time that has not come yet."""

# Columns of a request's integers.
PROMPT, OUTPUT, KNOWN, COMPUTED, BLOCKS, NEXT, PREVIOUS, STATE = range(8)
WORKER, LEVEL, PREEMPTIONS, HIT_TOKENS, KEY_START, KEY_COUNT, IN_FLIGHT, PREFILL_WORKER = range(8, 16)
REQUEST_COLUMNS = 16
"""`KNOWN`: tokens of prompt and output so far; `COMPUTED`: those of them that are in the KV cache; `LEVEL`: priority
level, 0 first; `KEY_START`, `KEY_COUNT`: the request's blocks in the table of prefix keys; `NEXT`, `PREVIOUS`: links of
a queue."""

# Columns of a request's times, milliseconds.
ARRIVAL_MS, SCHEDULED_MS, FIRST_TOKEN_MS, LAST_TOKEN_MS, END_MS = range(5)
TIME_COLUMNS = 5

# A request's states. A request that was preempted waits; it is prefilled again with all tokens it had.
UNSEEN, WAITING, PREFILLING, DECODING, MOVING, DONE, REJECTED_LENGTH, REJECTED_KV = range(8)

# Columns of a worker: settings first, counters after.
POLICY, TOKEN_BUDGET, MAX_SEQS, BLOCK_TOKENS, TOTAL_BLOCKS, WATERMARK_BLOCKS, CHUNKED, PREFIX_CACHE = range(8)
LONG_PREFILL, MAX_MODEL_LEN, DRAFT_TOKENS, ROLE, POOL, STAGES, RESERVE_PROMPT, MIXED_CHUNKS, KEY_BLOCKS = (
    range(8, 17)
)
NUM_RUNNING, FREE_BLOCKS, NUM_WAITING, FREE_HEAD, FREE_TAIL, OUTSTANDING, RATIO_PPM = range(17, 24)
READY, FREE_SLOTS, CHANGED, AHEAD, SEEN, LEAVING, ENDED, PEERS = range(24, 32)
WORKER_COLUMNS = 32
"""`KEY_BLOCKS`: KV blocks that one prefix key stands for; `FREE_BLOCKS` counts blocks that no request holds, cached
ones among them; `FREE_HEAD`, `FREE_TAIL`: ends of their list, in the order in which they are taken; `OUTSTANDING`:
requests here that are not done; `RATIO_PPM`: SGLang's new-token ratio, parts a million; `READY`: something happened
here at this time; `FREE_SLOTS`: free places in the block table; `CHANGED`: since its last plan a request came, or
blocks were freed, so that the next one may be another; `AHEAD`: plans one iteration ahead, knows the requests below
`SEEN` and still holds `LEAVING` that are done; `ENDED`: an iteration ended at this time; `PEERS`: workers from this
one on that begin and end their iterations together, 1 for one alone, 0 for those behind the first."""

# Roles of a worker.
UNIFIED, PREFILL_ONLY, DECODE_ONLY = range(3)

# Columns of a KV block; of an entry of the index of cached keys.
REFERENCES, KEY, NEXT_FREE, PREVIOUS_FREE, NEXT_SAME, PREVIOUS_SAME = range(6)
BLOCK_COLUMNS = 6
ENTRY_KEY, ENTRY_BLOCK = range(2)
"""`NEXT_SAME`, `PREVIOUS_SAME`: ring of the blocks with one key, in the order in which they got it; the index holds
the first."""

MAX_LEVELS = 16
"""Priority levels: each has a queue of its own, so that a long queue costs nothing to insert into."""
HEAD, TAIL = range(2)


class Requests(NamedTuple):
    """All requests.

    Attributes:
        ints: [requests, REQUEST_COLUMNS].
        times_ms: [requests, TIME_COLUMNS].
        keys: Prefix keys of all requests' prompt blocks, end to end: equal keys are equal content after equal content.
    """

    ints: Int32Array
    times_ms: FloatArray
    keys: IntArray


class Workers(NamedTuple):
    """All workers. `W` workers, `R` most requests that run on one.

    Attributes:
        ints: [W, WORKER_COLUMNS].
        running: Requests that hold KV blocks, in the order in which they were admitted, [W, R].
        queues: First and last waiting request of each level, [W, MAX_LEVELS, 2].
        plan: The iteration that a policy just made: request and new tokens; and room for a policy's lists, [R, 3].
        table: KV blocks of each running request (by its place in `slot`), [W, R, blocks + 1]; the last column is the
            stack of free places; empty without prefix caching.
        slot: Place of a request in `table`, [requests]; empty without prefix caching.
        blocks: References, key, neighbours in the list of free blocks and in the ring of equal ones of each block,
            [W, blocks, BLOCK_COLUMNS]; empty likewise.
        cached: Open-addressing table of cached keys: key and block, [W, size, 2]; empty without prefix caching.
    """

    ints: IntArray
    running: Int32Array
    queues: Int32Array
    plan: Int32Array
    table: Int32Array
    slot: Int32Array
    blocks: IntArray
    cached: IntArray


def new_requests(arrival_ms: FloatArray, prompt: IntArray, output: IntArray) -> Requests:
    """Requests before the first event, in the order given (by arrival), without prefix keys."""
    ints = np.zeros((len(arrival_ms), REQUEST_COLUMNS), dtype=np.int32)
    ints[:, PROMPT] = ints[:, KNOWN] = prompt
    ints[:, OUTPUT] = output
    ints[:, WORKER] = ints[:, NEXT] = ints[:, PREVIOUS] = NONE
    times_ms = np.full((len(arrival_ms), TIME_COLUMNS), UNSET_MS)
    times_ms[:, ARRIVAL_MS] = arrival_ms
    return Requests(ints, times_ms, np.zeros(0, dtype=np.int64))
