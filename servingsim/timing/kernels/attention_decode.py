"""`attention_decode`: one new token for each request of a batch, over the keys that each has cached.

Re-axed: an iteration knows the keys of all its requests together, the kernel is measured at equal lengths.
The coordinates are (batch_size, mean kv_len), mean = total_kv_len / batch_size; it may fall between integers.
Work is linear in the keys, so the mean is exact for it, unless a window cuts some of the requests only.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from servingsim.timing.attention_domain import keys_bound, own_keys
from servingsim.timing.attention_heads import SAME_LAUNCH, AttentionHeadsConfig
from servingsim.timing.contract import (
    Coords,
    KernelInput,
    KernelKind,
    Reaxis,
)
from servingsim.timing.fields import Context, KvTokens, Requests
from servingsim.timing.grid import batch_sizes, kv_lengths, within_window
from servingsim.timing.work.attention_decode import work


class AttentionDecodeConfig(AttentionHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")
    max_kv_tokens: KvTokens = Field(2**22, description="keys of all requests: bounds batch_size * kv_len")

    @model_validator(mode="after")
    def _sane(self) -> Self:
        keys_bound(self.max_kv_tokens, self.max_kv_len, self.max_batch_size)
        return self


class AttentionDecodeInput(KernelInput):
    """One call: what a batch knows without looking at single requests."""

    batch_size: Requests = Field(description="requests")
    total_kv_len: KvTokens = Field(description="keys of all requests together, their new tokens included")

    @model_validator(mode="after")
    def _own_key(self) -> Self:
        own_keys(self.total_kv_len, self.batch_size)
        return self


def _grid(config: AttentionDecodeConfig) -> tuple[tuple[int, ...], ...]:
    kv_len = within_window(kv_lengths(config.max_kv_len), config.window_size)
    return (batch_sizes(config.max_batch_size), kv_len)


def _feasible(config: AttentionDecodeConfig, coords: Coords) -> bool:
    batch_size, kv_len = coords
    return batch_size * kv_len <= config.max_kv_tokens


def _project(_config: AttentionDecodeConfig, call: AttentionDecodeInput) -> Coords:
    return (float(call.batch_size), call.total_kv_len / call.batch_size)


def _invert(_config: AttentionDecodeConfig, coords: Coords) -> AttentionDecodeInput:
    batch_size, kv_len = coords
    return AttentionDecodeInput(batch_size=round(batch_size), total_kv_len=round(batch_size * kv_len))


KERNEL = KernelKind(
    kind="attention_decode",
    config=AttentionDecodeConfig,
    input=AttentionDecodeInput,
    axes=("batch_size", "kv_len"),
    args=(
        "batch_size",
        "kv_len",
        "num_heads",
        "num_kv_heads",
        "head_dim",
        "dtype",
        "kv_dtype",
        "window_size",
    ),
    sweep_grid=_grid,
    reaxis=Reaxis(_project, _invert),
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
    feasible=_feasible,
)
