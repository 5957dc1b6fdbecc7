"""`mla_decode` with `torch.nn.functional.scaled_dot_product_attention` over the latents themselves.

Absorbed, all heads share one key, the latent and the rotated key after it, and one value, the latent: a view of the
same memory. With one token a request nothing is masked, so that its heads are the queries of one head, [batch, 1,
heads, rank + rope], and nothing is copied for each of them. The scale is that of a head before absorption.
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

FP32_BYTES = 4


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
    queries, cached = batch_size * num_heads * wide, batch_size * kv_len * wide
    count = rotation.copies(
        setting,
        operand_bytes=(queries + cached) * width,
        # Without a fused kernel for heads so wide: everything in fp32, and the scores three times.
        result_bytes=FP32_BYTES * (2 * queries + 3 * cached + 3 * batch_size * num_heads * kv_len),
    )
    tensors = Tensors.on(setting, dtype)
    attend = partial(
        tensors.torch.nn.functional.scaled_dot_product_attention,
        scale=1 / math.sqrt(qk_nope_head_dim + qk_rope_head_dim),
    )
    operands = zip(
        tensors.copies(count, batch_size, 1, num_heads, wide),
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
