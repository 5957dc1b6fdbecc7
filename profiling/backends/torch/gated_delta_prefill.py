"""`gated_delta_prefill`: the gated delta rule by chunks of tokens, written out in torch's public operations.

No fused kernel: products, a triangular solve and a loop over chunks, as Transformers runs it where none is installed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import recurrence
from profiling.backends.recurrent_operands import Recurrence
from profiling.backends.tensors import Tensors
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(
    setting: Setting,
    *,
    batch_size: int,
    q_len: int,
    num_k_heads: int,
    num_v_heads: int,
    k_head_dim: int,
    v_head_dim: int,
    dtype: Dtype,
) -> Launch:
    """Rotate tokens and states."""
    sizes = Recurrence(
        batch_size=batch_size,
        tokens=q_len,
        key_heads=num_k_heads,
        heads=num_v_heads,
        key=k_head_dim,
        value=v_head_dim,
        delta=True,
        chunk=recurrence.CHUNK,
    )
    count, tensors = sizes.copies(setting, dtype), Tensors.on(setting, dtype)
    run = partial(recurrence.by_chunks, tensors.torch)
    return tensors.launch(partial(run, *operands) for operands in sizes.operands(tensors, count))


BACKEND = Backend(
    name="torch",
    kind="gated_delta_prefill",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
