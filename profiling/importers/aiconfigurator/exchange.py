"""What the tables of exchanges around spread experts share. Tokens are those of one rank; times are microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.columns import Text
from profiling.importers.aiconfigurator.dtypes import dtype_column

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.columns import IntArray
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

MICROSECOND_MS = 1e-3
UNIFIED_NUMBERS = ("num_tokens", "hidden_size", "topk", "num_experts", "ep_size")
UNIFIED_TEXTS = ("comm_backend", "comm_dtype", "phase")
LOW_LATENCY_NUMBERS = ("num_token", "hidden_size", "num_topk", "num_experts", "node_num")
RANKS_OF_NODE = 8
"""The low-latency tables of nodes do not say how many ranks one has; they were collected on nodes of eight."""
FOUR_A_NODE = ("GB200", "GB300")
"""Systems whose nodes have four: there the number of ranks is unknown."""


def exchange_args(judge: Judge, tokens: IntArray, topk: IntArray, ranks: IntArray, dtype: Text) -> Args:
    """Args of both kinds, in their order; impossible counts are refused."""
    experts = judge.whole("num_experts", least=1)
    judge.refuse(topk > experts, "topk is more than num_experts")
    judge.refuse(ranks > experts, "more ranks than experts")
    return {
        "num_tokens": tokens,
        "hidden_size": judge.whole("hidden_size", least=1),
        "topk": topk,
        "num_experts": experts,
        "num_ranks": ranks,
        "dtype": dtype,
    }


def unified_args(judge: Judge) -> Args:
    """Args from the table of both ways; rows whose dtype is called `default` are refused: it does not say which."""
    return exchange_args(
        judge,
        judge.whole("num_tokens", least=1),
        judge.whole("topk", least=1),
        judge.whole("ep_size", least=2),
        dtype_column(judge, "comm_dtype"),
    )


def low_latency_args(judge: Judge, dtype: str) -> Args:
    """Args from a table of DeepEP's low-latency mode."""
    judge.refuse_texts(judge.columns.texts["device"], _unknown_node)
    return exchange_args(
        judge,
        judge.whole("num_token", least=1),
        judge.whole("num_topk", least=1),
        judge.whole("node_num", least=1) * RANKS_OF_NODE,
        Text.constant(dtype, len(judge.columns)),
    )


def _unknown_node(device: str) -> str:
    named = next((name for name in FOUR_A_NODE if name in device), "")
    return f"{named}: the table does not say how many ranks a node has" if named else ""
