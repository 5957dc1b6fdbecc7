"""The independent accountant: what a dense decoder must compute and move for a batch, from plain numbers.

Nothing here looks at a cost tree or at a kernel's work model: matrix products from the shapes of the
weights, attention from the pairs of query and visible key, bytes from every weight and every cached key
once. It judges the trees, and gives the time that no implementation on the device can beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Prefill = tuple[int, int, bool]
"""q_len, prefix_len, whether the last position is sampled."""


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
            count * 4 * model.num_heads * model.head_dim * _pairs(prefill, decode, window)
            for count, window in model.layers
        )
        / model.tp,
        weight_bytes=layer_count * layer * model.layer_weight_bytes + read_rows * model.embedding_bytes,
        kv_read_bytes=sum(
            count * _kv_token_bytes(model) * _cached_keys(prefill, decode, window)
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


def _pairs(prefill: Sequence[Prefill], decode: Sequence[int], window: int) -> float:
    """Pairs of a query and a key that it sees, itself included."""
    chunks = sum(_seen(prefix + q, window) - _seen(prefix, window) for q, prefix, _ in prefill)
    return chunks + sum(_visible(kv_len, window) for kv_len in decode)


def _seen(length: int, window: int) -> float:
    """Keys that the first `length` positions of a sequence see, summed: 1 + 2 + ... up to the window each."""
    ramp = min(length, window) if window else length
    return ramp * (ramp + 1) / 2 + (length - ramp) * window


def _cached_keys(prefill: Sequence[Prefill], decode: Sequence[int], window: int) -> int:
    """Keys that the iteration finds in the cache and needs: the new ones are on chip."""
    chunks = sum(_visible(prefix + 1, window) - 1 for _, prefix, _ in prefill)
    return chunks + sum(_visible(kv_len, window) - 1 for kv_len in decode)


def _visible(keys: int, window: int) -> int:
    return min(keys, window) if window else keys


def _kv_token_bytes(model: DenseModel) -> float:
    """Keys and values of a token in one layer on one rank."""
    return 2 * _kv_heads(model) * model.head_dim * model.kv_bytes
