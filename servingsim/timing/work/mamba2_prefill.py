"""`mamba2_prefill`: the Mamba-2 state space over `q_len` tokens of each request, from its state to its state.

For each head with state h [head_dim, state_size]: h is decayed, the outer product of the input x and B is added, and
C reads the output from it.
"""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes

STATE_BYTES = 4
"""Implementations hold the state in fp32."""
STEP_BYTES = 4
"""A step width for each head, fp32."""


def work(
    *,
    batch_size: Number,
    q_len: Number,
    num_heads: Number,
    head_dim: Number,
    state_size: Number,
    num_groups: Number,
    dtype: str,
) -> Work:
    """5·head_dim·state_size FLOPs a token and head: the decay (1), the outer product and the reading (2 each).

    That is the recurrence; a chunked implementation does more for the sake of matrix units. The state of each request
    is read and written once, tokens once, B and C once for a group.
    """
    requests, tokens = as_number(batch_size), as_number(batch_size) * as_number(q_len)
    heads, channels = as_number(num_heads), as_number(num_heads) * as_number(head_dim)
    shared = 2 * as_number(num_groups) * as_number(state_size)
    state = channels * as_number(state_size)
    width = dtype_bytes(dtype)
    return Work(
        5 * tokens * state,
        tokens * ((channels + shared) * width + heads * STEP_BYTES) + requests * state * STATE_BYTES,
        tokens * channels * width + requests * state * STATE_BYTES,
    )
