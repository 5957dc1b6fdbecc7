"""What a report says of a model beside its kernels: names, sizes, memory, and the work that no kernel can avoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from servingsim.archs.kv import kv_facts
from servingsim.sim.necessary import bound, necessary
from servingsim.sim.report import MemoryFacts, Unpriced

if TYPE_CHECKING:
    from servingsim.archs.dense import DenseArch
    from servingsim.bounds.dense import Bound
    from servingsim.timing.batch import Batch
    from servingsim.timing.contract import Dtype
    from servingsim.timing.source import DeviceSpec


class ModelView(Protocol):
    """A model as a report sees it, dense or a table; sizes are those of one rank."""

    @property
    def model_type(self) -> str:
        """As in its config."""
        ...

    @property
    def parameters(self) -> int:
        """Elements of all weights of the whole model."""
        ...

    @property
    def num_layers(self) -> int:
        """Decoder layers."""
        ...

    @property
    def tp(self) -> int:
        """Ranks that share it."""
        ...

    @property
    def dtypes(self) -> tuple[Dtype, Dtype, Dtype]:
        """Of activations, of the layers' linear weights, of the KV cache."""
        ...

    @property
    def unpriced(self) -> list[Unpriced]:
        """What the model runs and its tree does not price."""
        ...

    def necessary_flops(self, batch: Batch) -> float:
        """FLOPs by the independent accountant."""
        ...

    def bound(self, batch: Batch, device: DeviceSpec) -> Bound | None:
        """What no implementation on the device beats; None where the device's peaks are unknown."""
        ...

    def memory(self, batch: Batch, device: DeviceSpec, utilisation: float) -> MemoryFacts:
        """Weights, KV cache and whether the batch fits."""
        ...


@dataclass(frozen=True)
class DenseView:
    """Of a dense decoder."""

    arch: DenseArch

    @property
    def model_type(self) -> str:
        """As in its config."""
        return self.arch.facts.model_type

    @property
    def parameters(self) -> int:
        """Elements of all weights."""
        return self.arch.facts.parameters

    @property
    def num_layers(self) -> int:
        """Decoder layers."""
        return self.arch.facts.num_layers

    @property
    def tp(self) -> int:
        """Ranks that share it."""
        return self.arch.rank.tp

    @property
    def dtypes(self) -> tuple[Dtype, Dtype, Dtype]:
        """Of activations, linear weights and KV cache."""
        return self.arch.rank.dtype, self.arch.rank.gemm_dtype, self.arch.rank.kv_dtype

    @property
    def unpriced(self) -> list[Unpriced]:
        """Nothing beyond what its stack leaves out."""
        return []

    def necessary_flops(self, batch: Batch) -> float:
        """FLOPs by the independent accountant."""
        return necessary(self.arch, batch).flops

    def bound(self, batch: Batch, device: DeviceSpec) -> Bound | None:
        """The roofline of the necessary work."""
        return bound(self.arch, batch, device)

    def memory(self, batch: Batch, device: DeviceSpec, utilisation: float) -> MemoryFacts:
        """Weights, KV cache and whether the batch fits."""
        found = kv_facts(self.arch.facts, self.arch.rank, device.memory_bytes, utilisation=utilisation)
        return MemoryFacts(
            weight_bytes=found.weight_bytes,
            kv_bytes_per_token=found.bytes_per_token,
            kv_sliding_bytes_per_request=found.sliding_bytes_per_request,
            kv_capacity_tokens=found.capacity_tokens,
            utilisation=utilisation,
            fits=batch.context_tokens <= found.capacity_tokens,
        )
