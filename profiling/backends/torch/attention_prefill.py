"""`attention_prefill` with `torch.nn.functional.scaled_dot_product_attention`.

Operands as a Transformers forward hands them over: queries a transposed view of [batch, tokens, heads,
head_dim], keys and values contiguous [batch, kv_heads, keys, head_dim]; grouped heads through `enable_gqa`.

The mask: `is_causal` for a fresh prefill; none for a single query, which sees every key; otherwise the
queries are the last of the keys. There CUDA gets `causal_lower_right` (its flash kernels know that corner),
the CPU, and CUDA with a window or in fp32, an explicit boolean mask [1, 1, queries, keys], one for all copies
as for all layers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends import causal_mask, rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    batch_size: int,
    q_len: int,
    prefix_len: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
    window_size: int,
) -> Launch:
    """Rotate queries, keys and values."""
    del kv_dtype  # `supports` has seen that it is the same
    keys = shapes.kept_keys(q_len, prefix_len + q_len, window_size)
    query_bytes = batch_size * q_len * num_heads * head_dim * dtype_bytes(dtype)
    kv_bytes = 2 * batch_size * keys * num_kv_heads * head_dim * dtype_bytes(dtype)
    masked = q_len > 1 and (keys > q_len or 0 < window_size < keys)
    count = rotation.copies(
        setting,
        operand_bytes=query_bytes + kv_bytes,
        # A boolean mask becomes one of the operands' dtype on every call.
        result_bytes=query_bytes + masked * q_len * keys * dtype_bytes(dtype),
        shared_bytes=masked * q_len * keys,
    )
    tensors = Tensors.on(setting, dtype)
    queries = tensors.copies(count, batch_size, q_len, num_heads, head_dim)
    cached = (tensors.copies(count, batch_size, num_kv_heads, keys, head_dim) for _ in range(2))
    attend = partial(
        tensors.torch.nn.functional.scaled_dot_product_attention,
        attn_mask=causal_mask.seen(tensors, q_len, keys, window_size) if masked else None,
        is_causal=q_len > 1 and not masked,
        enable_gqa=num_heads != num_kv_heads,
    )
    operands = zip(queries, *cached, strict=True)
    return tensors.launch(partial(attend, q.transpose(1, 2), k, v) for q, k, v in operands)


BACKEND = Backend(
    name="torch",
    kind="attention_prefill",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=shapes.supports_one_dtype,
)
