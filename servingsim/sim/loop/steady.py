"""Decode steps that repeat: the same requests again, one token each, so that a step costs no walk over them.

After an iteration of decode requests alone of which none is done, the next one is the same again unless something
happened to the worker: a request came, blocks ran short. Until then what changes is known without a look at the
requests: each has one token more, and only those that cross the end of a block take one. So a repeated step costs what
its crossings cost, and requests are brought up to date (`settle`) when it ends. Every result is the same to the bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.gaps import gap_bin
from servingsim.sim.loop.state import (
    END,
    KEYS,
    LONGEST,
    SORTED,
    STEPS_DONE,
    STEPS_LEFT,
    UNDER_WAY,
)
from servingsim.workers.kv import grow, publish
from servingsim.workers.policies import SGLANG, sglang
from servingsim.workers.state import (
    BLOCK_TOKENS,
    CHANGED,
    COMPUTED,
    DRAFT_TOKENS,
    FREE_BLOCKS,
    KNOWN,
    LAST_TOKEN_MS,
    MAX_SEQS,
    NUM_RUNNING,
    NUM_WAITING,
    OUTPUT,
    POLICY,
    PREFIX_CACHE,
    PROMPT,
    STAGES,
)

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation

WORTH = 2
"""Repeats below which sorting the requests by their place in a block costs more than it saves."""


@compiled
def look_ahead(sim: Simulation, worker: int) -> None:
    """After an iteration of decode requests alone that has ended: how often it can be repeated."""
    ints, settings, batch = sim.requests.ints, sim.workers.ints[worker], sim.batch[worker, 0]
    steady, count = sim.steady[worker], int(sim.batch_size[worker, 0])
    if settings[STAGES] > 1 or settings[DRAFT_TOKENS] > 0 or count != settings[NUM_RUNNING]:
        return
    least, keys, longest = 1 << 30, 0, 0
    for index in range(count):
        request = batch[index, 0]
        known = int(ints[request, KNOWN])
        least = min(least, int(ints[request, PROMPT]) + int(ints[request, OUTPUT]) - known)
        keys += known
        longest = max(longest, known)
    # The step that makes a request's last token is none of them.
    if least > WORTH:
        steady[STEPS_LEFT], steady[STEPS_DONE], steady[SORTED] = least - 1, 0, 0
        steady[KEYS], steady[LONGEST] = keys, longest
        sim.steady_ms[worker] = sim.clock_ms[0]


@compiled
def repeats(sim: Simulation, worker: int) -> bool:
    """Whether the next iteration of a free worker is the last one again; if so it has got its blocks."""
    settings, steady = sim.workers.ints[worker], sim.steady[worker]
    if steady[STEPS_LEFT] <= 0 or settings[CHANGED]:
        return False
    # Of those who wait some could get in later: SGLang expects less with every token, cached prefixes come and go.
    if settings[NUM_WAITING] > 0 and (
        settings[POLICY] == SGLANG or (settings[PREFIX_CACHE] and settings[NUM_RUNNING] < settings[MAX_SEQS])
    ):
        return False
    if steady[SORTED] == 0:
        _sort(sim, worker)
    block_tokens, done = settings[BLOCK_TOKENS], steady[STEPS_DONE]
    starts = sim.steady_start[worker]
    entering, leaving = -done % block_tokens, (-1 - done) % block_tokens
    if starts[entering + 1] - starts[entering] >= settings[FREE_BLOCKS]:
        return False
    ints = sim.requests.ints
    for index in range(starts[entering], starts[entering + 1]):
        request = int(sim.steady_order[worker, index])
        grow(sim.requests, sim.workers, worker, request, int(ints[request, COMPUTED] + done) + 1)
    if settings[PREFIX_CACHE]:
        for index in range(starts[leaving], starts[leaving + 1]):
            request = int(sim.steady_order[worker, index])
            ints[request, KNOWN] += done
            computed = int(ints[request, COMPUTED] + done)
            publish(sim.requests, sim.workers, worker, request, computed, computed + 1)
            ints[request, KNOWN] -= done
    if settings[POLICY] == SGLANG:
        sglang.decay(sim.workers, worker)
    steady[UNDER_WAY] = 1
    return True


@compiled
def end_repeat(sim: Simulation, worker: int) -> None:
    """A repeated iteration has ended: every request has one token more."""
    steady, now_ms, count = sim.steady[worker], sim.clock_ms[0], int(sim.batch_size[worker, 0])
    sim.lanes_ms[worker, 0, END] = math.inf
    sim.gaps[gap_bin(now_ms - sim.steady_ms[worker])] += count
    sim.steady_ms[worker] = now_ms
    steady[UNDER_WAY] = 0
    steady[STEPS_LEFT] -= 1
    steady[STEPS_DONE] += 1
    steady[KEYS] += count
    steady[LONGEST] += 1


@compiled
def settle(sim: Simulation, worker: int) -> None:
    """Bring the requests of repeated iterations up to date; one that is under way ends like any other."""
    steady, ints = sim.steady[worker], sim.requests.ints
    done = steady[STEPS_DONE]
    if done > 0:
        for index in range(sim.batch_size[worker, 0]):
            request = sim.batch[worker, 0, index, 0]
            ints[request, KNOWN] += done
            ints[request, COMPUTED] += done
            sim.requests.times_ms[request, LAST_TOKEN_MS] = sim.steady_ms[worker]
    steady[STEPS_LEFT] = steady[STEPS_DONE] = steady[UNDER_WAY] = 0


@compiled
def _sort(sim: Simulation, worker: int) -> None:
    """The requests by their place in a block, in their order among equals: who crosses its end at a step is one run."""
    ints, batch, order = sim.requests.ints, sim.batch[worker, 0], sim.steady_order[worker]
    block_tokens, starts = int(sim.workers.ints[worker, BLOCK_TOKENS]), sim.steady_start[worker]
    count = int(sim.batch_size[worker, 0])
    for place in range(block_tokens + 2):
        starts[place] = 0
    for index in range(count):
        starts[ints[batch[index, 0], COMPUTED] % block_tokens + 2] += 1
    for place in range(2, block_tokens + 2):
        starts[place] += starts[place - 1]
    for index in range(count):
        request = batch[index, 0]
        place = ints[request, COMPUTED] % block_tokens + 1
        order[starts[place]] = request
        starts[place] += 1
    sim.steady[worker, SORTED] = 1
