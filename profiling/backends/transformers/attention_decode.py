"""`attention_decode` with the function that the eager forward of Hugging Face's models calls, one query a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends import transformers_attention
from profiling.backends.tensors import Tensors
from profiling.contract import Backend

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
    return transformers_attention.launch(
        setting,
        Tensors.on(setting, dtype),
        batch_size=batch_size,
        q_len=1,
        keys=shapes.kept_keys(1, kv_len, window_size),
        window_size=0,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        dtype=dtype,
    )


BACKEND = Backend(
    name="transformers",
    kind="attention_decode",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "transformers"),
    supports=shapes.supports_one_dtype,
)
