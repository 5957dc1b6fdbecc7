"""`mla_decode` with `torch.nn.functional.scaled_dot_product_attention` over the latents themselves.

Absorbed, all heads share one key, the latent and the rotated key after it, and one value, the latent: a view of the
same memory. Queries are [batch, heads, 1, rank + rope]. The scale is that of a head before absorption.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    batch_size: int,
    kv_len: int,
    num_heads: int,
    kv_lora_rank: int,
    qk_nope_head_dim: int,
    qk_rope_head_dim: int,
    v_head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
) -> Launch:
    """Rotate queries and latents."""
    del kv_dtype, v_head_dim  # one dtype, as `supports` has seen; heads leave the core as wide as the latent
    width, wide = dtype_bytes(dtype), kv_lora_rank + qk_rope_head_dim
    query_bytes, scores_bytes = batch_size * num_heads * wide * width, batch_size * num_heads * kv_len * width
    count = rotation.copies(
        setting,
        operand_bytes=query_bytes + batch_size * kv_len * wide * width,
        # Without a fused kernel for heads so wide, the shared key is copied for every head.
        result_bytes=query_bytes + 4 * scores_bytes + 2 * num_heads * batch_size * kv_len * wide * width,
    )
    tensors = Tensors.on(setting, dtype)
    attend = partial(
        tensors.torch.nn.functional.scaled_dot_product_attention,
        scale=1 / math.sqrt(qk_nope_head_dim + qk_rope_head_dim),
        enable_gqa=num_heads > 1,
    )
    operands = zip(
        tensors.copies(count, batch_size, num_heads, 1, wide),
        tensors.copies(count, batch_size, 1, kv_len, wide),
        strict=True,
    )
    return tensors.launch(partial(attend, q, kv, kv[..., :kv_lora_rank]) for q, kv in operands)


def supports(*, dtype: str, kv_dtype: str, **_sizes: int) -> str:
    """One dtype."""
    return shapes.one_dtype_refusal(1, 1, dtype, kv_dtype)


BACKEND = Backend(
    name="torch",
    kind="mla_decode",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
