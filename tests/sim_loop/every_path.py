"""One world for each path through the loop, and digests of all that they leave behind.

`python -m tests.sim_loop.every_path` prints the digests: with NUMBA_DISABLE_JIT=1 those of plain Python.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.cluster.routers import ROUTERS
from servingsim.sim.loop.build import PoolSettings
from servingsim.sim.loop.state import EACH, LINEAR, NEXT_UP, TOGETHER
from servingsim.workers.fleet import WorkerSettings
from servingsim.workers.policies import POLICIES
from tests.sim_loop.worlds import KEY_TOKENS, Asked, World, happened

if TYPE_CHECKING:
    from collections.abc import Iterator

TIGHT = WorkerSettings(
    token_budget=24, max_seqs=5, kv_blocks=30, block_tokens=4, max_model_len=96, watermark=0.05
)
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "prefixes": {"prefix_caching": True},
    "drafts": {"draft_tokens": 3},
    "stages": {"stages": 3, "mixed_chunks": True},
    "all": {"prefix_caching": True, "draft_tokens": 2, "stages": 2, "reserve_prompt": True},
}


def every_path() -> dict[str, World]:
    """Worlds by what they exercise."""
    worlds = {}
    for number, (policy, shape) in enumerate(itertools.product(POLICIES, SHAPES)):
        worker = WorkerSettings(**{**vars(TIGHT), "policy": policy, **SHAPES[shape]})
        attention = ((EACH, LINEAR), (TOGETHER, NEXT_UP))[number % 2]
        pools = (PoolSettings(worker, replicas=2, router=ROUTERS[number % len(ROUTERS)]),)
        worlds[f"{policy} {shape}"] = _world(number, pools, attention)
        split = (
            PoolSettings(worker, replicas=2, router="prefix_affine", next_pool=1, link_ms_per_token=0.3),
            PoolSettings(worker, replicas=2, router="least_kv"),
        )
        worlds[f"{policy} {shape} split"] = _world(number, split, attention)
    for number, shape in enumerate(("plain", "prefixes")):
        worker = WorkerSettings(**{**vars(TIGHT), "async_scheduling": True, **SHAPES[shape]})
        worlds[f"vllm {shape} ahead"] = _world(number, (PoolSettings(worker, replicas=2),), (EACH, LINEAR))
    for number, (policy, shape) in enumerate(itertools.product(POLICIES, ("plain", "prefixes"))):
        worker = WorkerSettings(**{**vars(TIGHT), "policy": policy, **SHAPES[shape]})
        pools = (PoolSettings(worker, replicas=4, peers=2, router="least_outstanding"),)
        worlds[f"{policy} {shape} together"] = _world(number, pools, (EACH, LINEAR))
    return worlds


def _world(seed: int, pools: tuple[PoolSettings, ...], attention: tuple[int, int]) -> World:
    random = Random(seed)  # noqa: S311 - a fixed world
    now_ms, asked = 0.0, []
    for _ in range(30):
        now_ms += random.expovariate(0.2)
        prompt = random.randint(1, 70)
        tree = [random.randint(0, 1) for _ in range(prompt // KEY_TOKENS)]
        keys = tuple(itertools.accumulate(tree, lambda node, bit: 2 * node + bit, initial=1))[1:]
        asked.append(Asked(now_ms, prompt, random.randint(1, 30), random.randint(0, 2), keys))
    return World(tuple(asked), pools, 0.6, graph_ms=0.5, eager_ms=1.7, seed=seed, attention=attention)


def digests() -> dict[str, str]:
    """What each world leaves behind, to the last bit: the schedule and every array."""
    found = {}
    for name, world in every_path().items():
        result = happened(world)
        digest = hashlib.sha256(repr((result.status, result.iterations)).encode())
        for array in _arrays(result.sim):
            digest.update(str(array.dtype).encode() + array.tobytes())
        found[name] = digest.hexdigest()
    return found


def _arrays(state: Any) -> Iterator[np.ndarray]:  # noqa: ANN401 - named tuples of named tuples
    for part in state:
        if isinstance(part, np.ndarray):
            yield part
        else:
            yield from _arrays(part)


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)
