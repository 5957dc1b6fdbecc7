"""`gated_delta_decode`: one step of the gated delta rule for each of `batch_size` requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.gated_delta_prefill import work as prefill_work

if TYPE_CHECKING:
    from servingsim.timing.work.amount import Number, Work


def work(
    *,
    batch_size: Number,
    num_k_heads: Number,
    num_v_heads: Number,
    k_head_dim: Number,
    v_head_dim: Number,
    dtype: str,
) -> Work:
    """As a prefill of one token a request: the state, read and written, is nearly all that is moved."""
    return prefill_work(
        batch_size=batch_size,
        q_len=1.0,
        num_k_heads=num_k_heads,
        num_v_heads=num_v_heads,
        k_head_dim=k_head_dim,
        v_head_dim=v_head_dim,
        dtype=dtype,
    )
