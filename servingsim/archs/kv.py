"""Memory of one rank: weights, KV cache a token, and how many tokens of KV cache a device holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.worklets.partition import DecoderShape

BLOCK_TOKENS = 16
"""Tokens of one page of a paged KV cache (the default of vLLM)."""
DEFAULT_UTILISATION = 0.9
"""Share of a device's memory that an engine takes (vLLM's `gpu_memory_utilization`)."""


@dataclass(frozen=True)
class KvFacts:
    """Memory of one rank, in bytes and tokens.

    Attributes:
        bytes_per_token: Keys and values of one token in all layers that attend to everything.
        sliding_bytes_per_request: Most that one request holds in sliding layers, whatever its length.
        weight_bytes: Weights on this rank.
        capacity_tokens: Tokens of full-attention KV cache that fit beside the weights, whole blocks.
    """

    bytes_per_token: int
    sliding_bytes_per_request: int
    weight_bytes: int
    capacity_tokens: int


def kv_bytes_per_token(facts: DenseFacts, rank: DecoderShape, *, sliding: bool = False) -> int:
    """Keys and values that one token adds on this rank, replicas included, in full (or sliding) layers.

    2 (K and V) * layers * KV heads of the rank * head_dim * bytes of the KV dtype. Sliding layers are counted
    apart: beyond the window they keep nothing more.
    """
    layers = facts.num_sliding_layers if sliding else facts.num_layers - facts.num_sliding_layers
    return round(2 * layers * rank.kv_size * dtype_bytes(rank.kv_dtype))


def weight_bytes(facts: DenseFacts, rank: DecoderShape) -> int:
    """Weights of one rank: linear weights by their dtype, replicated where KV heads are, norms whole."""
    linear = rank.hidden_size * (2 * rank.q_size + 2 * rank.kv_size + 3 * rank.intermediate_size)
    tables = rank.vocab_size * rank.hidden_size * (1 if facts.tied_embeddings else 2)
    others = facts.num_layers * facts.layer_other_parameters + facts.hidden_size
    gemm_bytes = facts.num_layers * linear * dtype_bytes(rank.gemm_dtype)
    return round(gemm_bytes + (tables + others) * dtype_bytes(rank.dtype))


def check_utilisation(utilisation: float) -> None:
    """Refuse a share of the memory that is none (NaN fails the comparison, too)."""
    if not 0 < utilisation <= 1:
        raise ServingSimError(f"memory utilisation {utilisation}", known="above 0, up to 1")


def kv_facts(
    facts: DenseFacts,
    rank: DecoderShape,
    memory_bytes: int,
    *,
    utilisation: float = DEFAULT_UTILISATION,
    reserved_bytes: int = 0,
) -> KvFacts:
    """Capacity of a device's memory.

    Args:
        facts: The model.
        rank: One rank's part of it.
        memory_bytes: Memory of the device.
        utilisation: Share of it that may be used.
        reserved_bytes: Activations, graphs and the like; not modelled, so 0 makes the capacity an upper
            bound.

    Raises:
        ServingSimError: `utilisation` outside (0, 1].
    """
    check_utilisation(utilisation)
    weights = weight_bytes(facts, rank)
    free = memory_bytes * utilisation - weights - reserved_bytes
    per_token = kv_bytes_per_token(facts, rank)
    sliding = kv_bytes_per_token(facts, rank, sliding=True)
    blocks = math.floor(free / ((per_token or sliding) * BLOCK_TOKENS))
    return KvFacts(per_token, sliding * facts.window_size, weights, max(0, blocks) * BLOCK_TOKENS)
