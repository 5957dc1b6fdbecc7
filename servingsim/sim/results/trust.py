"""How far a report may be believed: whose rows, which host times, what is left out, how close the tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.check import table_error
from servingsim.sim.pricing.shares import leaf_costs
from servingsim.sim.report import HOST_NOT_MODELLED
from servingsim.sim.results.report import Trust
from servingsim.sim.validated import SERVING, read_validated
from servingsim.sim.validated.match import Subject, ValidatedPart, parts_of
from servingsim.sim.validated.subjects import of_kernel
from servingsim.sim.validated.words import how_to_validate, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import Simulated
    from servingsim.timing.source import Provenance

SUM_OF_PHASES = "0.3 to 1.4 of it, half the time 0.6 to 1.0"
"""5th to 95th percentile and quartiles of 46,000 launches over a prefill chunk and decodes (LLMServingSim's profiles of
Llama-3.1-8B): alone, decodes split their keys over blocks, beside a chunk they do not."""


def trust_of(simulated: Simulated, *, check_tables: bool) -> Trust:
    """Provenance, host, notes and the error of the tables."""
    errors = [
        table_error(pool.built.arch, simulated.sim.prices, pool.prices.extent, pool=index).p95
        for index, pool in enumerate(simulated.pools)
        if check_tables
    ]
    parts = _validated(simulated)
    return Trust(
        validated_error=said(parts),
        validated=parts,
        how_to_validate=how_to_validate(parts),
        table_error_p95=max(errors, default=None),
        sources=sorted({whose for pool in simulated.pools for whose in _sources(pool)}),
        host=[f"{pool.pool.name}: {_host(pool)}" for pool in simulated.pools],
        notes=list(dict.fromkeys(note for pool in simulated.pools for note in _notes(pool, simulated))),
    )


def _validated(simulated: Simulated) -> list[ValidatedPart]:
    """Kinds of kernels by their time, and how each pool's model is served."""
    pools, records = simulated.pools, read_validated()
    costs = leaf_costs([pool.prices for pool in pools], simulated.sim.visits)
    leaves = [leaf for pool in pools for leaf in pool.prices.leaves]
    whole_ms = sum(cost.time_ms for cost in costs) or 1.0
    shares = [
        (of_kernel(leaf.kernel, index), time_ms / whole_ms)
        for leaf, cost in zip(leaves, costs, strict=True)
        for index, time_ms in cost.sources
    ]
    served = {
        Subject(
            SERVING,
            pool.pool.device,
            (simulated.deployment.stack,),
            pool.built.site.version,
            pool.built.view.model_type,
            pool.built.view.dtypes[0],
        )
        for pool in pools
    }
    return [*parts_of(shares, records), *(subject.part(1.0, records) for subject in sorted(served, key=repr))]


def _sources(pool: PoolModel) -> Iterator[str]:
    """Whose measurements priced the kernels, or that nobody's did."""
    for leaf in pool.prices.leaves:
        for table in leaf.kernel.tables:
            yield _said(table.provenance)
        if not leaf.kernel.tables:
            yield _said(leaf.kernel.estimate)


def _said(whose: Provenance) -> str:
    parts = [whose.origin, whose.device, f"{whose.framework} {whose.version}".strip(), whose.source]
    return ", ".join(filter(None, parts))


def _host(pool: PoolModel) -> str:
    host = pool.pool.host
    return host.source if host.graph_ms or host.eager_ms or host.request_ms else HOST_NOT_MODELLED


def _notes(pool: PoolModel, simulated: Simulated) -> Iterator[str]:
    if _host(pool) == HOST_NOT_MODELLED:
        yield f"{pool.pool.name}: host time is not modelled: real iterations take longer"
    for each in pool.built.view.unpriced:
        yield f"{pool.pool.name}: not priced: {each.name} ({each.reason})"
    if pool.pool.pp > 1:
        yield f"{pool.pool.name}: hand-over between pipeline stages takes {pool.prices.stage_token_ms} ms a token"
    yield from _shared_experts(pool)
    if _adds_both_phases(pool):
        yield (
            f"{pool.pool.name}: attention of prefill chunks beside decodes is the sum of both alone; one launch over "
            f"both was not measured here (on RTX 4090 and RTX PRO 6000, vLLM 0.19, the sum is {SUM_OF_PHASES})"
        )
    if simulated.deployment.disaggregated:
        link = simulated.deployment.link
        yield f"KV caches move at {link.gb_per_s} GB/s after {link.latency_ms} ms, one at a time from a prefill replica"
    if not np.isfinite(simulated.workload.arrival_ms[-1]):
        yield "closed loop: a request comes when an earlier one is done"


def _shared_experts(pool: PoolModel) -> Iterator[str]:
    said = pool.pool
    if said.peers > 1:
        yield f"{said.name}: {said.peers} replicas that share experts begin and end each iteration together"
    elif said.sharers > 1:
        yield (
            f"{said.name}: {said.sharers} replicas share experts; each is simulated as if the others had batches like "
            "its own and it waited for none (they go together where replicas are a multiple of ep / tp and pp is 1)"
        )


def _adds_both_phases(pool: PoolModel) -> bool:
    """Whether iterations hold both phases and each phase's attention has launches of its own."""
    scheduler = pool.pool.scheduler
    mixes = scheduler.policy in {"vllm", "sarathi"} or (
        scheduler.policy == "sglang" and scheduler.mixed_chunks
    )
    families = {leaf.family for leaf in pool.prices.leaves}
    return mixes and {"prefill", "decode"} <= families
