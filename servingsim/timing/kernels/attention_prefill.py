"""`attention_prefill`: causal attention of q_len new tokens a request over a cached prefix and themselves.

One request is measured over the whole rectangle of (q_len, prefix_len) that the longest context spans.
Several together are measured as far as one iteration goes: its new tokens, the context of one longest one.
"""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.attention_domain import prefill_fits
from servingsim.timing.attention_heads import SAME_LAUNCH, AttentionHeadsConfig
from servingsim.timing.contract import (
    Coords,
    KernelInput,
    KernelKind,
)
from servingsim.timing.fields import Context, Prefix, Requests, Tokens
from servingsim.timing.grid import batch_sizes, prefix_lengths, query_lengths, within_window
from servingsim.timing.work.attention_prefill import work


class AttentionPrefillConfig(AttentionHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_num_tokens: Tokens = Field(16384, description="new tokens of an iteration: bounds batch_size * q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")


class AttentionPrefillInput(KernelInput):
    """One call over requests of equal shape."""

    batch_size: Requests = Field(description="requests")
    q_len: Tokens = Field(description="new tokens of each request")
    prefix_len: Prefix = Field(0, description="cached tokens of each request; 0 for a fresh prefill")


def _grid(config: AttentionPrefillConfig) -> tuple[tuple[int, ...], ...]:
    return (
        batch_sizes(config.max_batch_size, factor=4),
        query_lengths(min(config.max_num_tokens, config.max_kv_len)),
        within_window(prefix_lengths(config.max_kv_len), config.window_size),
    )


def _feasible(config: AttentionPrefillConfig, coords: Coords) -> bool:
    return prefill_fits(coords, config.max_num_tokens, config.max_kv_len)


KERNEL = KernelKind(
    kind="attention_prefill",
    config=AttentionPrefillConfig,
    input=AttentionPrefillInput,
    axes=("batch_size", "q_len", "prefix_len"),
    args=(
        "batch_size",
        "q_len",
        "prefix_len",
        "num_heads",
        "num_kv_heads",
        "head_dim",
        "dtype",
        "kv_dtype",
        "window_size",
    ),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
    feasible=_feasible,
)
