"""`mamba2_prefill`: the Mamba-2 scan by chunks of tokens, written out in torch's public operations.

B is the key, C the query, dt times x the value; the heads of a group share B and C.
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
    num_heads: int,
    head_dim: int,
    state_size: int,
    num_groups: int,
    dtype: Dtype,
) -> Launch:
    """Rotate tokens and states."""
    sizes = Recurrence(
        batch_size=batch_size,
        tokens=q_len,
        key_heads=num_groups,
        heads=num_heads,
        key=state_size,
        value=head_dim,
        delta=False,
        chunk=recurrence.CHUNK,
    )
    count, tensors = sizes.copies(setting, dtype), Tensors.on(setting, dtype)
    run = partial(recurrence.by_chunks, tensors.torch)
    return tensors.launch(partial(run, *operands) for operands in sizes.operands(tensors, count))


BACKEND = Backend(
    name="torch",
    kind="mamba2_prefill",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
