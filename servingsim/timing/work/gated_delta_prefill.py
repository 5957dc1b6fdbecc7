"""`gated_delta_prefill`: the gated delta rule over `q_len` tokens of each request, from its state to its state.

For each value head with state S [k, v]: S is decayed, what it holds for the key is read (S'k), the difference to the
value, scaled, is written back (an outer product), and the query reads the result (S'q).
"""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes

STATE_BYTES = 4
"""Implementations hold the state in fp32."""
GATE_BYTES = 4
"""A decay and a step width for each value head, fp32 both."""


def work(
    *,
    batch_size: Number,
    q_len: Number,
    num_k_heads: Number,
    num_v_heads: Number,
    k_head_dim: Number,
    v_head_dim: Number,
    dtype: str,
) -> Work:
    """7·k·v FLOPs a token and value head: the decay (1) and three products with the state (2 each).

    That is the recurrence; a chunked implementation does more for the sake of matrix units. The state of each request
    is read and written once, tokens once.
    """
    requests, tokens = as_number(batch_size), as_number(batch_size) * as_number(q_len)
    keys = as_number(num_k_heads) * as_number(k_head_dim)
    heads, values = as_number(num_v_heads), as_number(num_v_heads) * as_number(v_head_dim)
    state = heads * as_number(k_head_dim) * as_number(v_head_dim)
    width = dtype_bytes(dtype)
    return Work(
        7 * tokens * state,
        tokens * ((2 * keys + values) * width + 2 * heads * GATE_BYTES) + requests * state * STATE_BYTES,
        tokens * values * width + requests * state * STATE_BYTES,
    )
