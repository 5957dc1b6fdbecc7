"""A model that is a decision table, as a report sees it: sizes from its facts, never from its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from servingsim.archs.explore import class_states, parameters, request_state_bytes, weight_bytes
from servingsim.archs.explore.state import PAGE_TOKENS
from servingsim.archs.kv import check_utilisation
from servingsim.bounds import general as accountant
from servingsim.sim.necessary_general import Deployment, necessary_general
from servingsim.sim.report import MemoryFacts, Unpriced

if TYPE_CHECKING:
    from servingsim.archs.model_facts import ModelFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.bounds.dense import Bound
    from servingsim.bounds.tally import GeneralWork
    from servingsim.timing.batch import Batch
    from servingsim.timing.contract import Dtype
    from servingsim.timing.source import DeviceSpec


@dataclass(frozen=True)
class TableView:
    """Of any decoder."""

    model: TableModel

    @property
    def model_type(self) -> str:
        """As in its config."""
        return self.model.facts.model_type

    @property
    def parameters(self) -> int:
        """Elements of all weights."""
        return parameters(self.model.facts).total

    @property
    def num_layers(self) -> int:
        """Decoder layers."""
        return self.model.facts.num_layers

    @property
    def tp(self) -> int:
        """Ranks that share it."""
        return self.model.tp

    @property
    def dtypes(self) -> tuple[Dtype, Dtype, Dtype]:
        """Of activations, linear weights and KV cache."""
        return self.model.facts.dtype, self.model.facts.gemm_dtype, self.model.kv_dtype

    @property
    def unpriced(self) -> list[Unpriced]:
        """Rows that no kind prices, those that another kind stands in for, and parts that are not described."""
        rows = [
            Unpriced(name=row.name, reason=f"kernel kind {row.kind} is to be wired")
            for row in self.model.left_out
        ]
        parts = [
            Unpriced(name=name, reason="not described by the table") for name in self.model.facts.left_out
        ]
        return [*rows, *(Unpriced(name="table", reason=note) for note in self.model.notes), *parts]

    def necessary_flops(self, batch: Batch) -> float:
        """FLOPs by the independent accountant."""
        return self._necessary(batch).flops

    def bound(self, batch: Batch, device: DeviceSpec) -> Bound | None:
        """The roofline of the necessary work, at the peak of the linear layers' dtype."""
        dtype = self.model.facts.gemm_dtype
        peak = device.peak_flops.get(dtype) or device.peak_flops.get(dtype.split("_")[0])
        if not peak or not device.memory_bytes_per_s:
            return None
        work = self._necessary(batch, least=True)
        return accountant.bound(work, peak_flops=peak, bytes_per_s=device.memory_bytes_per_s)

    def memory(self, batch: Batch, device: DeviceSpec, utilisation: float) -> MemoryFacts:
        """Weights, KV cache and states, and whether the batch fits; capacity at the batch's mean context."""
        check_utilisation(utilisation)
        facts = self._cached
        states = class_states(facts, self.model.tp)
        weights = weight_bytes(facts, self.model.tp, self.model.ep)
        free = max(device.memory_bytes * utilisation - weights, 0.0)
        mean = max(batch.context_tokens // batch.num_requests, 1)
        one = request_state_bytes(facts, mean, self.model.tp).total
        return MemoryFacts(
            weight_bytes=weights,
            kv_bytes_per_token=sum(each.bytes_per_token for each in states if not each.window_tokens),
            kv_sliding_bytes_per_request=sum(
                each.bytes_per_token * each.window_tokens + each.fixed_bytes for each in states
            ),
            kv_capacity_tokens=int(free // one) * mean // PAGE_TOKENS * PAGE_TOKENS if one else 0,
            utilisation=utilisation,
            fits=self._held_bytes(batch, facts) <= free,
        )

    def _held_bytes(self, batch: Batch, facts: ModelFacts) -> int:
        """What all requests keep after the iteration."""
        rows = batch.rows
        contexts = [*(rows.q_len + rows.prefix_len).tolist(), *rows.kv_len.tolist()]
        return sum(request_state_bytes(facts, context, self.model.tp).total for context in contexts)

    @property
    def _cached(self) -> ModelFacts:
        """The facts with the cache's dtype as it is served."""
        return replace(self.model.facts, kv_dtype=self.model.kv_dtype)

    def _necessary(self, batch: Batch, *, least: bool = False) -> GeneralWork:
        """As the stack computes it, or the least that any implementation needs."""
        model = self.model
        served = Deployment(model.tp, model.ep, model.kv_dtype, absorbs=model.absorbs, least=least)
        return necessary_general(model.facts, served, batch)
