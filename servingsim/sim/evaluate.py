"""Build a model for a batch and price it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import numpy as np

from servingsim.archs.dense import DenseArch
from servingsim.archs.table_arch import TableArch
from servingsim.archs.table_model import TableModel
from servingsim.errors import ServingSimError
from servingsim.sim.table_view import TableView
from servingsim.sim.views import DenseView
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.cost_tree import root_error_ms
from servingsim.worklets.bounds import IterationBounds
from servingsim.worklets.routing import resolve_version
from servingsim.worklets.site import BuildSite

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.ops.pricing import SlotLog
    from servingsim.sim.options import PredictOptions
    from servingsim.sim.views import ModelView
    from servingsim.timing.cost_tree import Totals
    from servingsim.timing.source import TimingSource

Arch = TypeVar("Arch", bound=DenseArch | TableArch)
Arch_co = TypeVar("Arch_co", bound=DenseArch | TableArch, covariant=True)


@dataclass(frozen=True)
class Evaluated(Generic[Arch_co]):
    """A priced iteration.

    Attributes:
        site: Where the model was built.
        arch: The compiled model.
        view: What a report says of the model itself.
        batch: The iteration.
        totals: Every node's totals.
        logs: Each slot's coordinates and answers, in compile order.
    """

    site: BuildSite
    arch: Arch_co
    view: ModelView
    batch: Batch
    totals: Totals
    logs: tuple[SlotLog, ...]

    @property
    def kernels_ms(self) -> float:
        """Time of the whole tree."""
        return float(self.totals.time_ms[0])

    @property
    def error_ms(self) -> float:
        """Half width of the 90 % interval around `kernels_ms`; NaN where an op's error is unknown."""
        leaves = np.array([log.error_ms() for log in self.logs])
        return float(root_error_ms(self.arch.flat, self.totals, leaves)[0])


@dataclass(frozen=True)
class Built:
    """A model compiled for one rank: where it was built, its tree, and what a report says of it."""

    site: BuildSite
    arch: DenseArch | TableArch
    view: ModelView


@overload
def evaluate(
    model: DenseFacts, batch: Batch, source: TimingSource, options: PredictOptions
) -> Evaluated[DenseArch]: ...


@overload
def evaluate(
    model: DenseFacts | TableModel, batch: Batch, source: TimingSource, options: PredictOptions
) -> Evaluated[DenseArch | TableArch]: ...


def evaluate(
    model: DenseFacts | TableModel, batch: Batch, source: TimingSource, options: PredictOptions
) -> Evaluated[DenseArch] | Evaluated[DenseArch | TableArch]:
    """Price one iteration.

    Args:
        model: A dense decoder's facts, or any model as a table.
        batch: The iteration.
        source: Where kernel times come from.
        options: Device, stack, parallelism and limits; those of the stack and the ranks are a table's own.

    Raises:
        ServingSimError: Unknown device; the partition, the batch or the version does not fit; a kernel
            cannot be priced.
    """
    bounds = _bounds(longest_context(model), batch, options)
    bounds.refuse_beyond(batch)
    built = build_model(model, bounds, source, options)
    return _priced(built.arch, built.view, built.site, batch)


def build_model(
    model: DenseFacts | TableModel, bounds: IterationBounds, source: TimingSource, options: PredictOptions
) -> Built:
    """Compile a model for one device, stack and rank; as `evaluate`, for iterations within `bounds`."""
    source.device(options.device)
    version = resolve_version(options.stack, source, options.device, options.stack_version)
    site = BuildSite(options.device, source, options.stack, version, bounds, options.on_missing)
    if isinstance(model, TableModel):
        _refuse_another(model, options)
        return Built(site, TableArch.build(model.rows, site), TableView(model))
    dense = DenseArch.build(model, site, tp=options.tp, kv_dtype=options.kv_dtype)
    return Built(site, dense, DenseView(dense))


def longest_context(model: DenseFacts | TableModel) -> int:
    """Tokens of the longest request that the config allows, 0 where it does not say."""
    return model.facts.max_positions if isinstance(model, TableModel) else model.max_positions


def _priced(arch: Arch, view: ModelView, site: BuildSite, batch: Batch) -> Evaluated[Arch]:
    totals, logs = arch.evaluate(Batches.of([batch]), logging=True)
    return Evaluated(site, arch, view, batch, totals, logs)


def _refuse_another(model: TableModel, options: PredictOptions) -> None:
    """A table is written for one stack and its ranks; another one needs another table."""
    for name, own, asked in (("stack", model.stack, options.stack.name), ("tp", model.tp, options.tp)):
        if own != asked:
            raise ServingSimError(
                f"a table for {name} {own}, asked for {name} {asked}",
                hint=f"split the model for {name} {asked}",
            )


def _bounds(max_positions: int, batch: Batch, options: PredictOptions) -> IterationBounds:
    """What the user set; else the next power of two, so that a grid to fill is no larger than it must be.

    A model that does not say how long its contexts may be (0) is not cut.
    """
    longest = batch.longest_context
    if options.max_model_len is None and max_positions and longest > max_positions:
        raise ServingSimError(
            f"a request of {longest} tokens",
            code="E_LIMIT",
            known=f"the model's max_position_embeddings is {max_positions}",
            hint="shorten it, or set --max-model-len if the model really serves that much",
        )
    return IterationBounds(
        max_num_tokens=options.max_num_tokens or _next_power(batch.num_tokens),
        max_num_seqs=options.max_num_seqs or _next_power(batch.num_requests),
        max_model_len=options.max_model_len
        or min(_next_power(longest), max_positions or _next_power(longest)),
    )


def _next_power(value: int) -> int:
    return 1 << (value - 1).bit_length()
