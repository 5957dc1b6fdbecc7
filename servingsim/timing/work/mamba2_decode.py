"""`mamba2_decode`: one step of the Mamba-2 state space for each of `batch_size` requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.mamba2_prefill import work as prefill_work

if TYPE_CHECKING:
    from servingsim.timing.work.amount import Number, Work


def work(
    *,
    batch_size: Number,
    num_heads: Number,
    head_dim: Number,
    state_size: Number,
    num_groups: Number,
    dtype: str,
) -> Work:
    """As a prefill of one token a request: the state, read and written, is nearly all that is moved."""
    return prefill_work(
        batch_size=batch_size,
        q_len=1.0,
        num_heads=num_heads,
        head_dim=head_dim,
        state_size=state_size,
        num_groups=num_groups,
        dtype=dtype,
    )
