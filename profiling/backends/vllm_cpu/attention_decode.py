"""`attention_decode` with vLLM's paged attention on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends.vllm_cpu._attention import attention
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, kv_dtype: Dtype, dtype: Dtype, **sizes: int) -> Launch:
    """One new token a request."""
    del kv_dtype  # `supports` has seen that it is the same
    return attention(setting, q_len=1, dtype=dtype, **sizes)


BACKEND = Backend(
    name="vllm_cpu",
    kind="attention_decode",
    devices=("cpu",),
    compute_dtypes=("bf16", "fp16", "fp32"),
    kv_dtypes=("bf16", "fp16", "fp32"),
    prepare=prepare,
    requires=("torch", "vllm"),
    supports=shapes.supports_one_dtype,
)
