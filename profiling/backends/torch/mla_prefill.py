"""`mla_prefill` with `torch.nn.functional.scaled_dot_product_attention`, keys and values expanded for every head.

Operands as a Transformers forward hands them over: queries and keys [batch, heads, tokens, nope + rope], values
[batch, heads, tokens, v]. Masked as `attention_prefill` masks.
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

FP32_BYTES = 4


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    batch_size: int,
    q_len: int,
    prefix_len: int,
    num_heads: int,
    kv_lora_rank: int,
    qk_nope_head_dim: int,
    qk_rope_head_dim: int,
    v_head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
) -> Launch:
    """Rotate queries, keys and values."""
    del kv_dtype, kv_lora_rank  # one dtype, as `supports` has seen; the latent is expanded before
    keys, key, width = prefix_len + q_len, qk_nope_head_dim + qk_rope_head_dim, dtype_bytes(dtype)
    heads = batch_size * num_heads * width
    masked = q_len > 1 and prefix_len > 0
    count = rotation.copies(
        setting,
        operand_bytes=heads * (q_len * key + keys * (key + v_head_dim)),
        # Values are narrower than keys: without a fused kernel for that, all is in fp32 and scores are written out.
        result_bytes=FP32_BYTES
        * batch_size
        * num_heads
        * (q_len * (key + v_head_dim + 2.5 * keys) + keys * (key + v_head_dim)),
        shared_bytes=masked * q_len * keys,
    )
    tensors = Tensors.on(setting, dtype)
    attend = partial(
        tensors.torch.nn.functional.scaled_dot_product_attention,
        attn_mask=causal_mask.seen(tensors, q_len, keys) if masked else None,
        is_causal=q_len > 1 and not masked,
    )
    operands = zip(
        tensors.copies(count, batch_size, num_heads, q_len, key),
        tensors.copies(count, batch_size, num_heads, keys, key),
        tensors.copies(count, batch_size, num_heads, keys, v_head_dim),
        strict=True,
    )
    return tensors.launch(partial(attend, q, k, v) for q, k, v in operands)


def supports(*, dtype: str, kv_dtype: str, **_sizes: int) -> str:
    """One dtype."""
    return shapes.one_dtype_refusal(1, 1, dtype, kv_dtype)


BACKEND = Backend(
    name="torch",
    kind="mla_prefill",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
