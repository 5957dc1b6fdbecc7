"""vLLM's attention over a paged cache on a CPU: one launch for any mixture of requests."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.backends.vllm_cpu._cache import BLOCK_TOKENS, attention_isa, paged_cache
from profiling.backends.vllm_cpu._warm import warmed
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.contract import Dtype, Launch, Setting


def attention(
    setting: Setting,
    *,
    batch_size: int,
    q_len: int,
    kv_len: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
    window_size: int,
) -> Launch:
    """Requests of `q_len` new tokens that end at `kv_len`; queries and caches rotate."""
    blocks = -(-kv_len // BLOCK_TOKENS)
    width = dtype_bytes(dtype)
    query_bytes = batch_size * q_len * num_heads * head_dim * width
    cache_bytes = 2 * batch_size * blocks * BLOCK_TOKENS * num_kv_heads * head_dim * width
    count = rotation.copies(setting, operand_bytes=2 * query_bytes + cache_bytes)
    tensors = Tensors.on(setting, dtype)
    torch, ops = tensors.torch, importlib.import_module("vllm._custom_ops")
    isa = attention_isa(tensors, head_dim)
    int32: dict[str, Any] = {"dtype": torch.int32}
    starts = torch.arange(batch_size + 1, **int32) * q_len
    lengths = torch.full((batch_size,), kv_len, **int32)
    table = torch.arange(batch_size * blocks, **int32).view(batch_size, blocks)
    window = window_size - 1 if window_size else -1
    plan = ops.cpu_attn_get_scheduler_metadata(
        num_reqs=batch_size,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        seq_lens=lengths,
        dtype=tensors.dtype,
        query_start_loc=starts,
        causal=True,
        sliding_window_size=window,
        isa=isa,
        enable_kv_split=importlib.import_module("vllm.envs").VLLM_CPU_ATTN_SPLIT_KV,
    )
    calls: list[Callable[[], Any]] = []
    for queries in tensors.copies(count, batch_size * q_len, num_heads, head_dim):
        keys, values = paged_cache(tensors, batch_size * blocks, num_kv_heads, head_dim)
        calls.append(
            partial(
                ops.cpu_attention_with_kv_cache,
                queries,
                keys,
                values,
                torch.empty_like(queries),
                starts,
                lengths,
                head_dim**-0.5,
                True,
                None,
                window,
                table,
                0.0,
                plan,
                None,
            )
        )
    return warmed(tensors, calls)
