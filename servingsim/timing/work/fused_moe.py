"""`fused_moe`: the routed experts of one layer on one rank, gate / up, activation and down in one callable."""

from __future__ import annotations

import re

import numpy as np

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes

ACTIVE = re.compile(r"active_([1-9]\d*)")
"""A distribution that says how many experts the tokens of a launch share."""

BALANCED = "balanced"
"""Tokens take the experts in turn."""


def work(
    *,
    num_tokens: Number,
    hidden_size: Number,
    inter_size: Number,
    topk: Number,
    num_experts: Number,
    moe_tp_size: Number,
    moe_ep_size: Number,
    distribution: str,
    dtype: str,
) -> Work:
    """6·hidden·inter FLOPs a routed row; weights of the experts that are hit are read once.

    Rows on this rank: num_tokens·topk / ep. Experts hit: at most the local ones, in expectation under uniform
    routing E·(1-(1-topk/E)^tokens); a skewed `distribution` hits fewer, so this is an upper estimate of bytes, but
    `active_<n>` says it. Under `balanced` experts take turns: every row hits another until all are.
    """
    tokens, hidden, topk, experts = (as_number(v) for v in (num_tokens, hidden_size, topk, num_experts))
    inter = as_number(inter_size) / as_number(moe_tp_size)
    local_experts = experts / as_number(moe_ep_size)
    rows = tokens * topk / as_number(moe_ep_size)
    hit = local_experts * (1 - (1 - np.minimum(topk / experts, 1.0)) ** tokens)
    if distribution == BALANCED:
        hit = np.minimum(rows, local_experts)
    active = ACTIVE.fullmatch(distribution)
    if active:
        hit = np.minimum(np.minimum(tokens * topk, max(float(active[1]), float(np.max(topk)))), local_experts)
    width = dtype_bytes(dtype)
    return Work(
        6 * rows * hidden * inter, hit * 3 * hidden * inter * width + tokens * hidden * 2, tokens * hidden * 2
    )
