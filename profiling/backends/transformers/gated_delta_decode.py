"""`gated_delta_decode` with the function that the eager forward of Hugging Face's Qwen3-Next models calls.

`torch_recurrent_gated_delta_rule` of Transformers 5, norm of queries and keys included, from a state and to one:
what a forward runs where no fused kernel is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends.recurrent_operands import Recurrence
from profiling.backends.tensors import Tensors
from profiling.backends.transformers_delta import call, function
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(
    setting: Setting,
    *,
    batch_size: int,
    num_k_heads: int,
    num_v_heads: int,
    k_head_dim: int,
    v_head_dim: int,
    dtype: Dtype,
) -> Launch:
    """Rotate tokens and states."""
    sizes = Recurrence(
        batch_size=batch_size,
        tokens=1,
        key_heads=num_k_heads,
        heads=num_v_heads,
        key=k_head_dim,
        value=v_head_dim,
        delta=True,
    )
    count, tensors = sizes.copies(setting, dtype), Tensors.on(setting, dtype)
    run = function("torch_recurrent_gated_delta_rule")
    return tensors.launch(call(run, operands) for operands in sizes.operands(tensors, count))


BACKEND = Backend(
    name="transformers",
    kind="gated_delta_decode",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "transformers"),
)
