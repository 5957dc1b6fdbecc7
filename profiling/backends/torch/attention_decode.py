"""`attention_decode` with `torch.nn.functional.scaled_dot_product_attention`, one query a request.

Operands as a Transformers forward hands them over: queries a transposed view of [batch, 1, heads, head_dim],
keys and values contiguous [batch, kv_heads, keys, head_dim]; grouped heads through `enable_gqa`. No mask: the
query is the last token and sees every key. With a window only its keys are there, as in a sliding cache.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(
    setting: Setting,
    *,
    batch_size: int,
    kv_len: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
    window_size: int,
) -> Launch:
    """Rotate queries, keys and values."""
    del kv_dtype  # `supports` has seen that it is the same
    keys = shapes.kept_keys(1, kv_len, window_size)
    query_bytes = batch_size * num_heads * head_dim * dtype_bytes(dtype)
    kv_bytes = 2 * batch_size * keys * num_kv_heads * head_dim * dtype_bytes(dtype)
    count = rotation.copies(setting, operand_bytes=query_bytes + kv_bytes, result_bytes=query_bytes)
    tensors = Tensors.on(setting, dtype)
    queries = tensors.copies(count, batch_size, 1, num_heads, head_dim)
    cached = (tensors.copies(count, batch_size, num_kv_heads, keys, head_dim) for _ in range(2))
    attend = partial(
        tensors.torch.nn.functional.scaled_dot_product_attention, enable_gqa=num_heads != num_kv_heads
    )
    operands = zip(queries, *cached, strict=True)
    return tensors.launch(partial(attend, q.transpose(1, 2), k, v) for q, k, v in operands)


BACKEND = Backend(
    name="torch",
    kind="attention_decode",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=shapes.supports_one_dtype,
)
