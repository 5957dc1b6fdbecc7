"""Work counted in parts, so that a difference from another count can be named and not only measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from servingsim.bounds.visible import Prefill

Nature = Literal["gemm", "experts", "attention", "indexer", "scan", "conv", "embedding", "sum"]
"""`gemm` are linear layers that every token passes, `indexer` scores keys for sparse attention, `sum` is over ranks."""


@dataclass(frozen=True)
class Step:
    """What one iteration computes.

    Attributes:
        prefill: `(q_len, prefix_len, samples)` a request.
        decode: KV length a request, its new token included.
    """

    prefill: tuple[Prefill, ...]
    decode: tuple[int, ...]

    @property
    def prefill_tokens(self) -> int:
        """New tokens of prefill requests."""
        return sum(q for q, _, _ in self.prefill)

    @property
    def tokens(self) -> int:
        """All new tokens."""
        return self.prefill_tokens + len(self.decode)

    @property
    def sampled(self) -> int:
        """Positions whose logits are needed."""
        return sum(samples for _, _, samples in self.prefill) + len(self.decode)


@dataclass(frozen=True)
class Part:
    """One thing that the layers of a class do, on one rank.

    Attributes:
        name: `mixer.qkv`, `mixer.core.decode`, `mlp.experts` ...
        layer_class: Whose layers; empty outside the loop.
        nature: What kind of work it is.
        flops: A multiply-add is two.
        weight_bytes: Weights that have to be read.
        read_bytes: Of a cache or a state.
        written_bytes: Into a cache or a state.
        message_bytes: Of a result that ranks have to add up.
        count: Layers; the figures above are those of one.
    """

    name: str
    layer_class: str
    nature: Nature
    flops: float = 0.0
    weight_bytes: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    message_bytes: float = 0.0
    count: int = 1


@dataclass(frozen=True)
class GeneralWork:
    """Necessary work of one iteration on one rank, in parts."""

    parts: tuple[Part, ...]

    @property
    def flops(self) -> float:
        """All of them."""
        return sum(part.count * part.flops for part in self.parts)

    @property
    def bytes_moved(self) -> float:
        """Weights once, caches and states read and written once. Activations may stay on chip."""
        return self.weight_bytes() + self.read_bytes() + self.written_bytes()

    def of_class(self, layer_class: str) -> GeneralWork:
        """The parts of one layer class; empty: outside the loop."""
        return GeneralWork(tuple(part for part in self.parts if part.layer_class == layer_class))

    def flops_of(self, *natures: Nature) -> float:
        """FLOPs of parts of these natures."""
        return sum(part.count * part.flops for part in self._of(natures))

    def weight_bytes(self, *natures: Nature) -> float:
        """Weights that are read; of all parts where no nature is given."""
        return sum(part.count * part.weight_bytes for part in self._of(natures))

    def read_bytes(self, *natures: Nature) -> float:
        """Read of caches and states; of all parts where no nature is given."""
        return sum(part.count * part.read_bytes for part in self._of(natures))

    def written_bytes(self, *natures: Nature) -> float:
        """Written into caches and states; of all parts where no nature is given."""
        return sum(part.count * part.written_bytes for part in self._of(natures))

    @property
    def message_bytes(self) -> float:
        """Results that the ranks that share a batch have to add up."""
        return sum(part.count * part.message_bytes for part in self.parts)

    def _of(self, natures: tuple[Nature, ...]) -> Iterable[Part]:
        return (part for part in self.parts if not natures or part.nature in natures)
