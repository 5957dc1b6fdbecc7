"""Hypothesis strategies: worlds that are small, tight and full of ties."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from servingsim.cluster.routers import ROUTERS
from servingsim.sim.loop.build import PoolSettings
from servingsim.workers.fleet import WorkerSettings
from servingsim.workers.policies import POLICIES
from tests.sim_loop.worlds import KEY_TOKENS, Asked, World

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 96


@st.composite
def asked(draw: st.DrawFn, *, levels: int = 3, keyed: bool = True) -> tuple[Asked, ...]:
    """Up to 14 requests; arrivals on whole and half milliseconds, many at once; prompts that share beginnings."""
    number = draw(st.integers(1, 14))
    gaps = draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.5, 20.0]), min_size=number, max_size=number))
    requests, now_ms = [], 0.0
    for gap_ms in gaps:
        now_ms += gap_ms
        prompt, output = draw(st.integers(1, 60)), draw(st.integers(1, 36))
        level = draw(st.integers(0, levels - 1)) if levels > 1 else 0
        keys = _path(draw, prompt // KEY_TOKENS) if keyed else ()
        requests.append(Asked(now_ms, prompt, output, level, keys))
    return tuple(requests)


def _path(draw: st.DrawFn, most: int) -> tuple[int, ...]:
    """Keys of a walk down a binary tree: equal keys have equal keys before them."""
    keys, node = [], 1
    for _ in range(draw(st.integers(0, most))):
        node = 2 * node + draw(st.integers(0, 1))
        keys.append(node)
    return tuple(keys)


def workers(
    policy: str | None = None, *, drafts: bool = True, stages: bool = False
) -> st.SearchStrategy[WorkerSettings]:
    """Workers on which requests just fit, or do not."""
    make: Callable[..., WorkerSettings] = WorkerSettings
    return st.builds(
        make,
        policy=st.just(policy) if policy else st.sampled_from(POLICIES),
        token_budget=st.integers(1, 48),
        max_seqs=st.integers(1, 6),
        kv_blocks=st.integers(12, 60),
        block_tokens=st.sampled_from([1, 2, 4, 8]),
        max_model_len=st.integers(40, LONGEST),
        watermark=st.sampled_from([0.0, 0.0, 0.1]),
        chunked_prefill=st.just(True),
        prefix_caching=st.booleans(),
        long_prefill_tokens=st.sampled_from([0, 0, 7]) if policy == "vllm" else st.just(0),
        draft_tokens=st.sampled_from([0, 0, 3]) if drafts else st.just(0),
        stages=st.sampled_from([1, 1, 2, 3]) if stages else st.just(1),
        reserve_prompt=st.booleans(),
        mixed_chunks=st.booleans(),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One pool of replicas, or a prefill pool and a decode pool; workers of any policy."""
    peers = draw(st.sampled_from([1, 1, 2, 3]))
    entry = PoolSettings(
        draw(workers(stages=peers == 1)),
        replicas=draw(st.integers(1, 3)) if peers == 1 else peers * draw(st.integers(1, 2)),
        peers=peers,
        router=draw(st.sampled_from(ROUTERS)),
    )
    pools: tuple[PoolSettings, ...] = (entry,)
    if draw(st.booleans()):
        sending = PoolSettings(
            entry.worker,
            replicas=entry.replicas,
            peers=peers,
            router=entry.router,
            next_pool=1,
            link_latency_ms=draw(st.sampled_from([0.0, 2.0])),
            link_ms_per_token=draw(st.sampled_from([0.0, 0.25, 4.0])),
        )
        decoding = PoolSettings(
            draw(workers(stages=True)),
            replicas=draw(st.integers(1, 2)),
            router=draw(st.sampled_from(ROUTERS)),
        )
        pools = (sending, decoding)
    requests = draw(asked())
    if draw(st.sampled_from([False, False, True])):  # a closed loop: these come when others are done
        clients = draw(st.integers(1, len(requests)))
        waiting = (replace(each, arrival_ms=math.inf) for each in requests[clients:])
        requests = (*requests[:clients], *waiting)
    return World(
        requests,
        pools,
        acceptance=draw(st.sampled_from([0.0, 0.6, 1.0])),
        graph_ms=draw(st.sampled_from([0.0, 0.5])),
        eager_ms=draw(st.sampled_from([0.0, 2.0])),
        seed=draw(st.integers(0, 1000)),
    )
