"""vLLM's paged cache on a CPU: blocks of 128 tokens, keys and values of a head beside each other."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from profiling.backends.tensors import Tensors

BLOCK_TOKENS = 128
"""What vLLM chooses on a CPU where nothing else is asked for."""


def paged_cache(tensors: Tensors, blocks: int, num_kv_heads: int, head_dim: int) -> tuple[Tensor, Tensor]:
    """Keys and values of so many blocks, as the attention sees them."""
    whole = tensors.normal(blocks, num_kv_heads, BLOCK_TOKENS, 2 * head_dim)
    keys, values = whole.view(blocks, num_kv_heads, 2 * BLOCK_TOKENS, head_dim).chunk(2, dim=2)
    return keys, values


def attention_isa(tensors: Tensors, head_dim: int) -> str:
    """Which of its kernels vLLM runs on this CPU."""
    backend = importlib.import_module("vllm.v1.attention.backends.cpu_attn")
    return str(backend._get_attn_isa(tensors.dtype, BLOCK_TOKENS, head_dim, "auto"))  # noqa: SLF001 - no public way
