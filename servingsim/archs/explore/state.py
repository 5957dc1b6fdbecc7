"""What a request keeps on a rank: KV cache by layer class, latents, indexer keys, recurrent and convolution states.

Full attention keeps every token; a window (or a chunk) never more than its length; linear attention and state-space
layers the same state from the first token on. Division over ranks follows `servingsim.worklets.partition`: KV heads
are divided or replicated, a latent and the indexer's keys are the same on every rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import (
    LatentAttention,
    LinearAttention,
    Mamba2,
    ModelFacts,
    SoftmaxAttention,
)
from servingsim.errors import ServingSimError
from servingsim.timing.work.amount import dtype_bytes
from servingsim.worklets.partition import divided, kv_heads_per_rank

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass
    from servingsim.timing.contract import Dtype

PAGE_TOKENS = 16
"""Tokens of one page of a paged KV cache (the default of vLLM)."""
STATE_DTYPE: Dtype = "fp32"
"""Of recurrent states, as the models' own code keeps them (`mamba_ssm_cache_dtype: float32`); engines may halve it."""
MAX_CONTEXT = 2**32


@dataclass(frozen=True)
class ClassState:
    """What the layers of one class keep for one request on one rank, all of them together.

    Attributes:
        name: The layer class.
        layers: How many layers keep something.
        bytes_per_token: What a token adds.
        window_tokens: Tokens that are kept at most, 0 for all.
        fixed_bytes: Kept whatever the context's length.
    """

    name: str
    layers: int
    bytes_per_token: int
    window_tokens: int = 0
    fixed_bytes: int = 0

    def bytes_at(self, context: int, page: int) -> int:
        """Kept at a context length, in whole pages."""
        kept = min(context, self.window_tokens) if self.window_tokens else context
        return math.ceil(kept / page) * page * self.bytes_per_token + self.fixed_bytes


@dataclass(frozen=True)
class RequestState:
    """Memory of one request on one rank.

    Attributes:
        by_class: Bytes by layer class.
    """

    by_class: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes of all layers."""
        return sum(self.by_class.values())


def class_states(facts: ModelFacts, tp: int = 1) -> tuple[ClassState, ...]:
    """What each layer class keeps on one of `tp` ranks.

    Raises:
        ServingSimError: Heads that cannot be divided over the ranks.
    """
    if tp < 1:
        raise ServingSimError(f"tp {tp}", known="1 or more", path="tp")
    return tuple(_class_state(facts, each, tp) for each in facts.layers)


def kv_bytes_per_token(facts: ModelFacts, tp: int = 1) -> dict[str, int]:
    """Bytes that one token adds on one rank, by layer class; sliding layers add no more beyond their window."""
    return {each.name: each.bytes_per_token for each in class_states(facts, tp)}


def request_state_bytes(
    facts: ModelFacts, context: int, tp: int = 1, page: int = PAGE_TOKENS
) -> RequestState:
    """What one request of a context length keeps on one rank, in whole pages.

    Raises:
        ServingSimError: A context or page out of range, or heads that cannot be divided.
    """
    if not 0 <= context <= MAX_CONTEXT:
        raise ServingSimError(f"context {context}", known=f"0 to {MAX_CONTEXT} tokens", path="context")
    if page < 1:
        raise ServingSimError(f"page {page}", known="1 token or more", path="page")
    return RequestState({each.name: each.bytes_at(context, page) for each in class_states(facts, tp)})


def _class_state(facts: ModelFacts, layer: LayerClass, tp: int) -> ClassState:
    per_token, window, fixed = mixer_state(layer.mixer, facts, tp)
    return ClassState(
        layer.name, layer.count, round(layer.count * per_token), window, round(layer.count * fixed)
    )


@singledispatch
def mixer_state(mixer: object, facts: ModelFacts, tp: int) -> tuple[float, int, float]:
    """Bytes a token, tokens kept at most, and fixed bytes of one layer; nothing where a layer has no mixer."""
    del mixer, facts, tp
    return 0, 0, 0


@mixer_state.register
def _softmax(mixer: SoftmaxAttention, facts: ModelFacts, tp: int) -> tuple[float, int, float]:
    heads = 0 if mixer.kv_shared else kv_heads_per_rank(mixer.num_kv_heads, tp)
    return heads * (mixer.head_dim + mixer.v_head_dim) * dtype_bytes(facts.kv_dtype), mixer.window_size, 0


@mixer_state.register
def _latent(mixer: LatentAttention, facts: ModelFacts, tp: int) -> tuple[float, int, float]:
    """The latent and the rotated key, and the indexer's key; the heads are divided, what they share is not."""
    divided(mixer.num_heads, tp, "num_attention_heads")
    width = mixer.kv_lora_rank + mixer.qk_rope_head_dim + mixer.index_head_dim
    return width * dtype_bytes(facts.kv_dtype), 0, 0


@mixer_state.register
def _linear(mixer: LinearAttention, facts: ModelFacts, tp: int) -> tuple[float, int, float]:
    k_heads = divided(mixer.num_k_heads, tp, "linear_num_key_heads")
    v_heads = divided(mixer.num_v_heads, tp, "linear_num_value_heads")
    convolved = 2 * k_heads * mixer.k_head_dim + v_heads * mixer.v_head_dim
    state = v_heads * mixer.k_head_dim * mixer.v_head_dim * dtype_bytes(STATE_DTYPE)
    return 0, 0, state + convolved * (mixer.conv_width - 1) * dtype_bytes(facts.dtype)


@mixer_state.register
def _mamba2(mixer: Mamba2, facts: ModelFacts, tp: int) -> tuple[float, int, float]:
    heads = divided(mixer.num_heads, tp, "mamba_num_heads")
    groups = kv_heads_per_rank(mixer.num_groups, tp)
    convolved = heads * mixer.head_dim + 2 * groups * mixer.state_size
    state = heads * mixer.head_dim * mixer.state_size * dtype_bytes(STATE_DTYPE)
    return 0, 0, state + convolved * (mixer.conv_width - 1) * dtype_bytes(facts.dtype)
