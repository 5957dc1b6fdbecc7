"""The independent accountant: what a dense decoder must compute and move for a batch, from plain numbers.

Nothing here looks at a cost tree or at a kernel's work model: matrix products from the shapes of the
weights, attention from the pairs of query and visible key, bytes from every weight and every cached key
once. It judges the trees, and gives the time that no implementation on the device can beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.bounds.visible import Sight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.bounds.visible import Prefill


@dataclass(frozen=True)
class DenseModel:
    """Sizes of the whole model, and bytes of its elements.

    `layers` holds (number of layers, window) pairs; window 0 sees everything.
    """

    layers: tuple[tuple[int, int], ...]
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    layer_weight_bytes: float
    embedding_bytes: float
    kv_bytes: float
    tp: int = 1


@dataclass(frozen=True)
class NecessaryWork:
    """Per rank and iteration: FLOPs (a multiply-add is two) and bytes."""

    gemm_flops: float
    attention_flops: float
    weight_bytes: float
    kv_read_bytes: float
    kv_written_bytes: float

    @property
    def flops(self) -> float:
        """All of them."""
        return self.gemm_flops + self.attention_flops

    @property
    def bytes_moved(self) -> float:
        """Weights once, cached keys and values once, new ones once. Activations may stay on chip."""
        return self.weight_bytes + self.kv_read_bytes + self.kv_written_bytes


@dataclass(frozen=True)
class Bound:
    """Times in ms that the device's peaks allow at best."""

    compute_ms: float
    memory_ms: float

    @property
    def bound_ms(self) -> float:
        """The longer of the two: perfect overlap."""
        return max(self.compute_ms, self.memory_ms)


def necessary_work(model: DenseModel, prefill: Sequence[Prefill], decode: Sequence[int]) -> NecessaryWork:
    """Work of one iteration on one rank.

    Args:
        model: The model.
        prefill: `(q_len, prefix_len, samples)` a request.
        decode: KV length a request, its new token included.
    """
    tokens = sum(q for q, _, _ in prefill) + len(decode)
    sampled = sum(samples for _, _, samples in prefill) + len(decode)
    layer_count = sum(count for count, _ in model.layers)
    layer, head = _layer_weights(model), model.vocab_size * model.hidden_size
    read_rows = tokens * model.hidden_size + (head / model.tp if sampled else 0)
    return NecessaryWork(
        gemm_flops=2 * (tokens * layer_count * layer + sampled * head / model.tp),
        attention_flops=sum(
            count * 4 * model.num_heads * model.head_dim * _pairs(prefill, decode, Sight(window))
            for count, window in model.layers
        )
        / model.tp,
        weight_bytes=layer_count * layer * model.layer_weight_bytes + read_rows * model.embedding_bytes,
        kv_read_bytes=sum(
            count * _kv_token_bytes(model) * _cached_keys(prefill, decode, Sight(window))
            for count, window in model.layers
        ),
        kv_written_bytes=layer_count * _kv_token_bytes(model) * tokens,
    )


def bound(work: NecessaryWork, *, peak_flops: float, bytes_per_s: float) -> Bound:
    """The roofline: no kernel computes faster than the peak or reads faster than the memory."""
    return Bound(work.flops / peak_flops * 1e3, work.bytes_moved / bytes_per_s * 1e3)


def _layer_weights(model: DenseModel) -> float:
    """Elements of q, k, v and o, of gate, up and down, on one rank."""
    q_heads = model.num_heads / model.tp
    mlp = 3 * model.intermediate_size / model.tp
    return model.hidden_size * (2 * (q_heads + _kv_heads(model)) * model.head_dim + mlp)


def _kv_heads(model: DenseModel) -> float:
    """KV heads on one rank: a head is not divided further, beyond that every rank needs its own copy."""
    return max(model.num_kv_heads / model.tp, 1)


def _pairs(prefill: Sequence[Prefill], decode: Sequence[int], sight: Sight) -> float:
    """Pairs of a query and a key that it sees, itself included."""
    return sight.prefill_pairs(prefill) + sight.decode_pairs(decode)


def _cached_keys(prefill: Sequence[Prefill], decode: Sequence[int], sight: Sight) -> int:
    """Keys that the iteration finds in the cache and needs: the new ones are on chip."""
    return sight.prefill_cached(prefill) + sight.decode_cached(decode)


def _kv_token_bytes(model: DenseModel) -> float:
    """Keys and values of a token in one layer on one rank."""
    return 2 * _kv_heads(model) * model.head_dim * model.kv_bytes
