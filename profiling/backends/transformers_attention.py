"""Attention as Transformers' models call it: `sdpa_attention_forward`, with what it does to keys that are shared.

Without a mask it names grouped heads; with one (a prompt after cached tokens) it repeats keys and values first.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

from profiling.backends import causal_mask, rotation
from profiling.backends.transformers_function import function_of
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.backends.tensors import Tensors
    from profiling.contract import Dtype, Launch, Setting

MODULE = "transformers.integrations.sdpa_attention"
FUNCTION = "sdpa_attention_forward"


def launch(  # noqa: PLR0913 - the args of both kinds
    setting: Setting,
    tensors: Tensors,
    *,
    batch_size: int,
    q_len: int,
    keys: int,
    window_size: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
) -> Launch:
    """Rotate queries [batch, heads, q_len, head_dim] and keys and values [batch, kv_heads, keys, head_dim]."""
    width = batch_size * head_dim * dtype_bytes(dtype)
    masked = q_len > 1 and (keys > q_len or 0 < window_size < keys)
    groups = num_heads // num_kv_heads
    count = rotation.copies(
        setting,
        operand_bytes=width * (q_len * num_heads + 2 * keys * num_kv_heads),
        result_bytes=width * (2 * q_len * num_heads + masked * 2 * keys * num_heads),
        shared_bytes=masked * q_len * keys,
    )
    queries = tensors.copies(count, batch_size, q_len, num_heads, head_dim)
    cached = (tensors.copies(count, batch_size, num_kv_heads, keys, head_dim) for _ in range(2))
    module = SimpleNamespace(num_key_value_groups=groups, is_causal=True)
    attend = partial(
        function_of(MODULE, FUNCTION),
        attention_mask=causal_mask.seen(tensors, q_len, keys, window_size) if masked else None,
        scaling=head_dim**-0.5,
    )
    operands = zip(queries, *cached, strict=True)
    return tensors.launch(partial(attend, module, q.transpose(1, 2), k, v) for q, k, v in operands)
