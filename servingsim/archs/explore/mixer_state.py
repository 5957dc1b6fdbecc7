"""What one layer's mixer keeps of a request on one rank: bytes a token, a window, fixed bytes."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import (
    LatentAttention,
    LinearAttention,
    Mamba2,
    ModelFacts,
    SoftmaxAttention,
)
from servingsim.timing.work.amount import dtype_bytes
from servingsim.worklets.partition import divided, kv_heads_per_rank

if TYPE_CHECKING:
    from servingsim.timing.contract import Dtype

STATE_DTYPE: Dtype = "fp32"
"""Of recurrent states, as the models' own code keeps them (`mamba_ssm_cache_dtype: float32`); engines may halve it."""


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
