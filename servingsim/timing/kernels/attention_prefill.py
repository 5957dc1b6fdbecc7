"""`attention_prefill`: causal attention of q_len new tokens a request over a cached prefix and themselves.

One request is measured over the whole rectangle of (q_len, prefix_len) that the longest context spans.
Several together are measured as far as one iteration goes: its new tokens, the context of one longest one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import (
    COMPUTE_DTYPE,
    KV_DTYPE,
    Coords,
    Dtype,
    KernelConfig,
    KernelInput,
    KernelKind,
)
from servingsim.timing.fields import Context, HeadDim, Heads, Prefix, Requests, Tokens, Window, whole_groups
from servingsim.timing.grid import batch_sizes, prefix_lengths, query_lengths, within_window
from servingsim.timing.work import attention_prefill as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


class AttentionPrefillConfig(KernelConfig):
    """The heads of one rank, and the domain that the grid covers."""

    num_heads: Heads = Field(description="query heads on this rank")
    num_kv_heads: Heads = Field(description="KV heads on this rank; num_heads is a multiple")
    head_dim: HeadDim = Field(description="elements of a head")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of queries and output")
    kv_dtype: Annotated[Dtype, KV_DTYPE] = Field(description="dtype of cached keys and values")
    window_size: Window = Field(0, description="keys that a query sees, itself included; 0: all")
    max_num_tokens: Tokens = Field(16384, description="new tokens of an iteration: bounds batch_size * q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        whole_groups(self.num_heads, self.num_kv_heads)
        return self


class AttentionPrefillInput(KernelInput):
    """One call over requests of equal shape."""

    batch_size: Requests = Field(description="requests")
    q_len: Tokens = Field(description="new tokens of each request")
    prefix_len: Prefix = Field(0, description="cached tokens of each request; 0 for a fresh prefill")


def _fixed(config: AttentionPrefillConfig) -> dict[str, ArgValue]:
    return {
        "num_heads": config.num_heads,
        "num_kv_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "dtype": config.dtype,
        "kv_dtype": config.kv_dtype,
        "window_size": config.window_size,
    }


def _grid(config: AttentionPrefillConfig) -> tuple[tuple[int, ...], ...]:
    return (
        batch_sizes(config.max_batch_size, factor=4),
        query_lengths(min(config.max_num_tokens, config.max_kv_len)),
        within_window(prefix_lengths(config.max_kv_len), config.window_size),
    )


def _feasible(config: AttentionPrefillConfig, coords: Coords) -> bool:
    """New tokens of one iteration; in all, as many as that and one request of the longest context."""
    batch_size, q_len, prefix_len = coords
    new_tokens, all_tokens = batch_size * q_len, batch_size * (q_len + prefix_len)
    return new_tokens <= config.max_num_tokens and all_tokens <= config.max_num_tokens + config.max_kv_len


def _project(_config: AttentionPrefillConfig, call: AttentionPrefillInput) -> Coords:
    return (float(call.batch_size), float(call.q_len), float(call.prefix_len))


def _invert(_config: AttentionPrefillConfig, coords: Coords) -> AttentionPrefillInput:
    batch_size, q_len, prefix_len = (round(value) for value in coords)
    return AttentionPrefillInput(batch_size=batch_size, q_len=q_len, prefix_len=prefix_len)


def _work(config: AttentionPrefillConfig, coords: FloatArray) -> Work:
    return work_model.work(
        batch_size=coords[..., 0],
        q_len=coords[..., 1],
        prefix_len=coords[..., 2],
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        dtype=config.dtype,
        kv_dtype=config.kv_dtype,
        window_size=config.window_size,
    )


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
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="work_nd",
    feasible=_feasible,
)
