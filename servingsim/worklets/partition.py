"""Tensor parallelism: what one rank of a dense decoder holds. This is the only place that divides by tp."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.timing.contract import Dtype
    from servingsim.worklets.stack import Stack


@dataclass(frozen=True)
class DecoderShape:
    """A dense decoder layer and its surroundings, whole or one rank's part.

    Attributes:
        hidden_size: Width of the residual stream; never divided.
        num_heads: Query heads.
        num_kv_heads: KV heads.
        head_dim: Elements of a head.
        intermediate_size: Width of gate and of up.
        vocab_size: Rows of the embedding and of the lm_head.
        qk_norm: Whether queries and keys are normalised per head.
        dtype: Of activations, embedding, norms and lm_head.
        gemm_dtype: Of the layers' linear weights.
        kv_dtype: Of cached keys and values.
        tp: Ranks that share the model.
    """

    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    qk_norm: bool
    dtype: Dtype
    gemm_dtype: Dtype
    kv_dtype: Dtype
    tp: int = 1

    @property
    def q_size(self) -> int:
        """Features of the queries."""
        return self.num_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Features of the keys (and as many of the values)."""
        return self.num_kv_heads * self.head_dim


def partition(whole: DecoderShape, tp: int, stack: Stack) -> DecoderShape:
    """One rank's part: heads, MLP width and padded vocabulary divided by tp; KV heads divided or replicated.

    Raises:
        ServingSimError: A number does not divide, with both numbers, or tp is beyond what the stack prices.
    """
    if not 1 <= tp <= stack.max_tp:
        raise ServingSimError(
            f"tp {tp} with stack {stack.name!r}", known=f"tp 1 to {stack.max_tp}", path="tp"
        )
    vocab_size = math.ceil(whole.vocab_size / stack.vocab_multiple) * stack.vocab_multiple
    return DecoderShape(
        hidden_size=whole.hidden_size,
        num_heads=divided(whole.num_heads, tp, "num_attention_heads"),
        num_kv_heads=kv_heads_per_rank(whole.num_kv_heads, tp),
        head_dim=whole.head_dim,
        intermediate_size=divided(whole.intermediate_size, tp, "intermediate_size"),
        vocab_size=divided(vocab_size, tp, f"vocab_size padded to {stack.vocab_multiple},"),
        qk_norm=whole.qk_norm,
        dtype=whole.dtype,
        gemm_dtype=whole.gemm_dtype,
        kv_dtype=whole.kv_dtype,
        tp=tp,
    )


def kv_heads_per_rank(num_kv_heads: int, tp: int) -> int:
    """KV heads of a rank: divided by tp, or one replica each where tp is a multiple of them.

    Raises:
        ServingSimError: Neither divides the other, with both numbers.
    """
    if num_kv_heads % tp == 0:
        return num_kv_heads // tp
    if tp % num_kv_heads == 0:
        return 1
    raise ServingSimError(
        f"{num_kv_heads} KV heads can neither be divided over nor replicated on tp {tp}",
        known=f"tp that divides {num_kv_heads}, or a multiple of {num_kv_heads}",
        path="tp",
    )


def divided(value: int, tp: int, name: str) -> int:
    """A number over tp ranks, which have to share it without a rest.

    Raises:
        ServingSimError: It does not divide, with both numbers.
    """
    if value % tp:
        raise ServingSimError(
            f"{name} {value} cannot be divided by tp {tp}", known=f"tp that divides {value}", path="tp"
        )
    return value // tp
