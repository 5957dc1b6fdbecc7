"""`gated_delta_decode`: one step of the gated delta rule, the states changed in place.

A decay, a read of the state for the key, an outer product and a read for the query: as many launches as operations.
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
    run = partial(recurrence.one_step, tensors.torch)
    return tensors.launch(partial(run, *operands) for operands in sizes.operands(tensors, count))


BACKEND = Backend(
    name="torch",
    kind="gated_delta_decode",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
