"""`attention_prefill` with vLLM's paged attention on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends.vllm_cpu._attention import attention
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(
    setting: Setting, *, q_len: int, prefix_len: int, kv_dtype: Dtype, dtype: Dtype, **sizes: int
) -> Launch:
    """New tokens at the end of what is cached."""
    del kv_dtype  # `supports` has seen that it is the same
    return attention(setting, q_len=q_len, kv_len=prefix_len + q_len, dtype=dtype, **sizes)


BACKEND = Backend(
    name="vllm_cpu",
    kind="attention_prefill",
    devices=("cpu",),
    compute_dtypes=("bf16", "fp16", "fp32"),
    kv_dtypes=("bf16", "fp16", "fp32"),
    prepare=prepare,
    requires=("torch", "vllm"),
    supports=shapes.supports_one_dtype,
)
