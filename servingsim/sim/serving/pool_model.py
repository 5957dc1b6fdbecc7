"""One pool's model, compiled and tabulated, and how many KV blocks a replica holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from servingsim.archs.stack_registry import stack_named
from servingsim.errors import ServingSimError
from servingsim.sim.evaluate import build_model, longest_context
from servingsim.sim.options import PredictOptions
from servingsim.sim.pricing.axes import Extent, axes_of
from servingsim.sim.pricing.leaves import leaf_tables, logs_of
from servingsim.sim.pricing.mixed_axes import mixed_axes
from servingsim.sim.pricing.tables import HostCosts, PoolPrices
from servingsim.timing.batch import Batch
from servingsim.timing.slot_inputs import MIXED_REQUESTS
from servingsim.workers.fleet import WorkerSettings, most_tokens
from servingsim.worklets.bounds import IterationBounds

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.evaluate import Built
    from servingsim.sim.report import MemoryFacts
    from servingsim.sim.serving.deployment import Deployment, Pool
    from servingsim.timing.source import TimingSource

LONGEST_WITHOUT_LIMIT = 2**17
"""Longest request where neither the config nor the user says."""


@dataclass(frozen=True)
class PoolModel:
    """A pool, ready to simulate.

    Attributes:
        pool: As the user wrote it.
        built: The compiled model of one rank.
        prices: Its tables.
        worker: Settings of one replica.
        memory: Of one rank, for requests of the workload's mean length.
    """

    pool: Pool
    built: Built
    prices: PoolPrices
    worker: WorkerSettings
    memory: MemoryFacts


def pool_model(
    pool: Pool,
    deployment: Deployment,
    model: DenseFacts | TableModel,
    source: TimingSource,
    mean_context: int,
) -> PoolModel:
    """Compile and tabulate.

    Args:
        pool: Of the deployment.
        deployment: The whole of it.
        model: One rank's model, split for the pool's parallelism.
        source: Where kernel times come from.
        mean_context: Tokens of the workload's mean request, for models whose state does not grow with each token.

    Raises:
        ServingSimError: The model, its partition, the device or the limits do not fit together, or weights alone fill
            the memory.
    """
    scheduler = pool.scheduler
    longest = scheduler.max_model_len or longest_context(model) or LONGEST_WITHOUT_LIMIT
    largest = most_tokens(_worker(pool, longest, kv_blocks=1))
    extent = Extent(largest, scheduler.max_num_seqs, longest, scheduler.draft_tokens, pool.sharers)
    options = PredictOptions(
        device=pool.device,
        stack=stack_named(deployment.stack),
        tp=pool.tp,
        stack_version=pool.stack_version,
        kv_dtype=pool.kv_dtype,
        on_missing=deployment.on_missing,
        utilisation=pool.utilisation,
    )
    built = build_model(
        model, IterationBounds(extent.max_tokens, extent.max_seqs, extent.max_model_len), source, options
    )
    _refuse_more_stages(pool, built.view.num_layers)
    launches = [log for log in logs_of(built.arch) if log.points.slot_input is MIXED_REQUESTS]
    axes = replace(
        axes_of(extent),
        mixed=mixed_axes([log.kernel for log in launches], extent),
    )
    memory = built.view.memory(
        Batch.of(decode=[min(mean_context, longest)]), source.device(pool.device), pool.utilisation
    )
    prices = PoolPrices(
        leaves=leaf_tables(built.arch, extent, axes),
        extent=extent,
        axes=axes,
        host=HostCosts(**pool.host.model_dump()),
        stage_share=math.ceil(built.view.num_layers / pool.pp) / built.view.num_layers,
        acceptance=scheduler.acceptance,
        filling=launches[0].points.width if launches else 0.0,
    )
    return PoolModel(pool, built, prices, _worker(pool, longest, _kv_blocks(pool, memory)), memory)


def _kv_blocks(pool: Pool, memory: MemoryFacts) -> int:
    """What the user said, or what is left of the memory of all stages beside the weights."""
    if pool.kv_blocks is not None:
        return pool.kv_blocks
    # A stage holds its share of the layers: of weights and KV cache alike.
    blocks = memory.kv_capacity_tokens // pool.scheduler.block_tokens
    if pool.pp > 1 and memory.kv_bytes_per_token:
        spared = memory.weight_bytes * (pool.pp - 1)
        blocks = int(blocks * pool.pp + spared // (memory.kv_bytes_per_token * pool.scheduler.block_tokens))
    if blocks < 1:
        raise ServingSimError(
            f"pool {pool.name!r}: no KV cache fits on {pool.device!r} beside the weights",
            code="E_LIMIT",
            known=f"weights {memory.weight_bytes / 1e9:.1f} GB a rank at tp {pool.tp}, pp {pool.pp}",
            hint="raise tp or pp, quantise, or give kv_blocks if the engine really has them",
        )
    return blocks


def _worker(pool: Pool, longest: int, kv_blocks: int) -> WorkerSettings:
    scheduler = pool.scheduler
    return WorkerSettings(
        policy=scheduler.policy,
        token_budget=scheduler.max_num_tokens,
        max_seqs=scheduler.max_num_seqs,
        kv_blocks=kv_blocks,
        block_tokens=scheduler.block_tokens,
        max_model_len=longest,
        watermark=scheduler.watermark,
        chunked_prefill=scheduler.chunked_prefill,
        prefix_caching=scheduler.prefix_caching,
        long_prefill_tokens=scheduler.long_prefill_tokens,
        draft_tokens=scheduler.draft_tokens,
        stages=pool.pp,
        reserve_prompt=scheduler.reserve_prompt,
        mixed_chunks=scheduler.mixed_chunks,
        async_scheduling=scheduler.async_scheduling,
    )


def _refuse_more_stages(pool: Pool, num_layers: int) -> None:
    if pool.pp > num_layers:
        raise ServingSimError(
            f"pool {pool.name!r}: {pool.pp} pipeline stages", known=f"the model has {num_layers} layers"
        )
