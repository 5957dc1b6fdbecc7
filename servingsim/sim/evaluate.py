"""Build a model for a batch and price it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.dense import DenseArch
from servingsim.errors import ServingSimError
from servingsim.timing.batch import Batch, Batches
from servingsim.worklets.bounds import IterationBounds
from servingsim.worklets.routing import resolve_version
from servingsim.worklets.site import BuildSite

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.ops.pricing import SlotLog
    from servingsim.sim.options import PredictOptions
    from servingsim.timing.source import TimingSource


@dataclass(frozen=True)
class Evaluated:
    """A priced iteration.

    Attributes:
        site: Where the model was built.
        arch: The compiled model.
        batch: The iteration.
        kernels_ms: Time of the whole tree.
        logs: Each slot's coordinates and answers, in compile order.
    """

    site: BuildSite
    arch: DenseArch
    batch: Batch
    kernels_ms: float
    logs: tuple[SlotLog, ...]


def evaluate(facts: DenseFacts, batch: Batch, source: TimingSource, options: PredictOptions) -> Evaluated:
    """Price one iteration.

    Raises:
        ServingSimError: Unknown device; the partition, the batch or the version does not fit; a kernel
            cannot be priced.
    """
    source.device(options.device)
    bounds = _bounds(facts, batch, options)
    bounds.refuse_beyond(batch)
    version = resolve_version(options.stack, source, options.device, options.stack_version)
    site = BuildSite(options.device, source, options.stack, version, bounds, options.on_missing)
    arch = DenseArch.build(facts, site, tp=options.tp, kv_dtype=options.kv_dtype)
    totals, logs = arch.evaluate(Batches.of([batch]), logging=True)
    return Evaluated(site, arch, batch, float(totals.time_ms[0]), logs)


def _bounds(facts: DenseFacts, batch: Batch, options: PredictOptions) -> IterationBounds:
    """What the user set; else the next power of two, so that a grid to fill is no larger than it must be."""
    longest = batch.longest_context
    if options.max_model_len is None and longest > facts.max_positions:
        raise ServingSimError(
            f"a request of {longest} tokens",
            code="E_LIMIT",
            known=f"the model's max_position_embeddings is {facts.max_positions}",
            hint="shorten it, or set --max-model-len if the model really serves that much",
        )
    return IterationBounds(
        max_num_tokens=options.max_num_tokens or _next_power(batch.num_tokens),
        max_num_seqs=options.max_num_seqs or _next_power(batch.num_requests),
        max_model_len=options.max_model_len or min(_next_power(longest), facts.max_positions),
    )


def _next_power(value: int) -> int:
    return 1 << (value - 1).bit_length()
