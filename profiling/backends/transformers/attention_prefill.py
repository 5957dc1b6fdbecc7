"""`attention_prefill` with the function that the eager forward of Hugging Face's models calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import attention_shapes as shapes
from profiling.backends import transformers_attention
from profiling.backends.tensors import Tensors
from profiling.contract import Backend

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
    return transformers_attention.launch(
        setting,
        Tensors.on(setting, dtype),
        batch_size=batch_size,
        q_len=q_len,
        keys=shapes.kept_keys(q_len, prefix_len + q_len, window_size),
        window_size=window_size,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        dtype=dtype,
    )


BACKEND = Backend(
    name="transformers",
    kind="attention_prefill",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    kv_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "transformers"),
    supports=shapes.supports_one_dtype,
)
