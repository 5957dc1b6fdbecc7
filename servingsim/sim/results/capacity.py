"""How many requests a second a deployment can take: an estimate from full iterations, to compare the traffic with.

At saturation a replica runs as many requests as its settings and its KV cache allow, at the mean lengths of the
workload; each decode step of a request is one output token, and new prompts come in beside it at the rate at which
requests end. Such an iteration is priced as the loop prices any other. Preemption, skew between replicas, ramps and
the bubbles of a pipeline whose iterations differ are not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.lookup import Lookup
from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import Simulated
    from servingsim.timing.source import FloatArray

SPECULATION = "not estimated with speculative decoding"
NO_BUBBLES = ", pipeline without bubbles"
SEPARATE = frozenset({"prefill_first", "sglang"})
"""Policies whose prefills are iterations of their own."""


@dataclass(frozen=True)
class Capacity:
    """Of one pool: requests a second of all its replicas, and what fills their iterations."""

    requests_per_s: float
    limited_by: str


@dataclass(frozen=True)
class _Mean:
    """The mean request: tokens of its prompt that are computed, of its output, and its KV length while it decodes."""

    prompt: float
    output: float
    kv_len: float


def capacities(simulated: Simulated, computed_share: float) -> list[Capacity] | None:
    """Of each pool; None with speculative decoding.

    Args:
        simulated: The run.
        computed_share: Share of prompt tokens that no prefix cache has.
    """
    if any(pool.pool.scheduler.draft_tokens for pool in simulated.pools):
        return None
    workload = simulated.workload
    prompt, output = workload.prompt.astype(np.float64), workload.output.astype(np.float64)
    mean = _Mean(
        prompt=max(float(prompt.mean()) * computed_share, 1.0),
        output=float(output.mean()),
        kv_len=float((output * (prompt + output / 2)).sum() / output.sum()),
    )
    lookup = Lookup(simulated.sim.prices)
    return [_pool(simulated, lookup, index, mean) for index in range(len(simulated.pools))]


def _pool(simulated: Simulated, lookup: Lookup, index: int, mean: _Mean) -> Capacity:
    pool = simulated.pools[index]
    replica = _Replica(pool, lookup, index, mean)
    split = simulated.deployment.disaggregated
    if split and index == 0:
        a_second, limited_by = replica.prefills(), "token budget of prefills"
    else:
        a_second, limited_by = replica.served(prefilled=split)
    if pool.pool.pp > 1:
        limited_by += NO_BUBBLES
    return Capacity(a_second * pool.pool.replicas, limited_by)


@dataclass(frozen=True)
class _Replica:
    """One replica at saturation."""

    pool: PoolModel
    lookup: Lookup
    index: int
    mean: _Mean

    def prefills(self) -> float:
        """Requests a second of a replica that only prefills: iterations of as many prompts, or pieces, as fit."""
        chunks = self._chunks(self._budget)
        tokens = sum(chunk for chunk, _prefix in chunks)
        return tokens / self.mean.prompt / self._time_ms(chunks, 0) * 1e3

    def served(self, *, prefilled: bool) -> tuple[float, str]:
        """Requests a second of a replica that decodes, and prefills where nobody else did; and its limit."""
        requests, limited_by = self._running(prefilled=prefilled)
        stages = self.pool.pool.pp
        decodes = max(requests / stages, 1.0)
        # So many requests end in an iteration, and as many begin.
        begun = 0.0 if prefilled else decodes / self.mean.output
        time_ms = self._decode_ms(decodes, begun)
        return decodes / self.mean.output / time_ms * 1e3, limited_by

    def _running(self, *, prefilled: bool) -> tuple[float, str]:
        scheduler, worker = self.pool.pool.scheduler, self.pool.worker
        a_decode = 0.0 if prefilled or self._separate else self.mean.prompt / self.mean.output
        limits = {
            "max_num_seqs": float(scheduler.max_num_seqs),
            "KV cache": worker.kv_blocks * worker.block_tokens / self.mean.kv_len,
            "token budget": self._budget * self.pool.pool.pp / (1 + a_decode),
        }
        name = min(limits, key=lambda each: limits[each])
        return max(limits[name], 1.0), name

    def _decode_ms(self, decodes: float, begun: float) -> float:
        """An iteration with its part of prefills, mean of those with and without."""
        count = max(math.floor(decodes), 1)
        alone_ms = self._time_ms([], count)
        prompt_tokens = begun * self.mean.prompt
        if prompt_tokens == 0:
            return alone_ms * decodes / count if decodes > count else alone_ms
        room = self._budget if self._separate else max(self._budget - count, 1)
        chunks = self._chunks(min(room, max(math.ceil(prompt_tokens), math.ceil(self.mean.prompt))))
        often = prompt_tokens / sum(chunk for chunk, _prefix in chunks)
        if self._separate:
            return alone_ms + often * self._time_ms(chunks, 0)
        both_ms = self._time_ms(chunks, count)
        return alone_ms + often * (both_ms - alone_ms)

    def _chunks(self, room: int) -> list[tuple[int, int]]:
        """New tokens and prefix of the prompts, or of the middle piece of one, that so many tokens have room for."""
        prompt = max(round(self.mean.prompt), 1)
        if room < prompt:
            return [(room, (prompt - room) // 2)]
        most = max(self.pool.pool.scheduler.max_num_seqs, 1)
        return [(prompt, 0)] * min(room // prompt, most)

    def _time_ms(self, chunks: list[tuple[int, int]], decodes: int) -> float:
        kv_len = max(round(self.mean.kv_len), 1)
        batch = Batch.of(prefill=[(new, prefix, True) for new, prefix in chunks], decode=[kv_len] * decodes)
        host = self.pool.prices.host
        graph = not chunks and decodes <= host.graph_max_seqs
        host_ms = (host.graph_ms if graph else host.eager_ms) + batch.num_requests * host.request_ms
        return self.lookup.iteration_ms(batch, self.index) * self.pool.prices.stage_share + host_ms

    @property
    def _separate(self) -> bool:
        scheduler = self.pool.pool.scheduler
        return scheduler.policy in SEPARATE and not scheduler.mixed_chunks

    @property
    def _budget(self) -> int:
        """New tokens of an iteration; a policy that cuts no prompt takes a longer one whole."""
        whole = self.pool.pool.scheduler.policy == "prefill_first"
        return max(self.pool.pool.scheduler.max_num_tokens, round(self.mean.prompt) if whole else 1)


def queue_growth(arrival_ms: FloatArray, queue_ms: FloatArray) -> float | None:
    """Slope of queueing over arrival, by least squares; None where all come within a microsecond."""
    known = ~np.isnan(queue_ms)
    arrival_ms, queue_ms = arrival_ms[known], queue_ms[known]
    if len(arrival_ms) < 2 or np.ptp(arrival_ms) < 1e-3:
        return None
    away = arrival_ms - arrival_ms.mean()
    return float((away @ (queue_ms - queue_ms.mean())) / (away @ away))
