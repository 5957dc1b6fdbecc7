"""`mla_decode`: one new token for each request over the cached latents, the expansion absorbed into the query.

The products that absorb (q times the key half of kv_b, the output times its value half) are kernels of their own.
Re-axed like `attention_decode`: an iteration knows the keys of all requests, the kernel is measured at equal lengths.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from servingsim.timing.attention_domain import keys_bound, own_keys
from servingsim.timing.contract import Coords, KernelInput, KernelKind, Reaxis
from servingsim.timing.fields import Context, KvTokens, Requests
from servingsim.timing.grid import batch_sizes, kv_lengths
from servingsim.timing.latent_heads import LATENT_ARGS, LatentHeadsConfig
from servingsim.timing.work.mla_decode import work


class MlaDecodeConfig(LatentHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")
    max_kv_tokens: KvTokens = Field(2**22, description="keys of all requests: bounds batch_size * kv_len")

    @model_validator(mode="after")
    def _sane(self) -> Self:
        keys_bound(self.max_kv_tokens, self.max_kv_len, self.max_batch_size)
        return self


class MlaDecodeInput(KernelInput):
    """One call: what a batch knows without looking at single requests."""

    batch_size: Requests = Field(description="requests")
    total_kv_len: KvTokens = Field(description="keys of all requests together, their new tokens included")

    @model_validator(mode="after")
    def _own_key(self) -> Self:
        own_keys(self.total_kv_len, self.batch_size)
        return self


def _grid(config: MlaDecodeConfig) -> tuple[tuple[int, ...], ...]:
    return (batch_sizes(config.max_batch_size), kv_lengths(config.max_kv_len))


def _feasible(config: MlaDecodeConfig, coords: Coords) -> bool:
    batch_size, kv_len = coords
    return batch_size * kv_len <= config.max_kv_tokens


def _project(_config: MlaDecodeConfig, call: MlaDecodeInput) -> Coords:
    return (float(call.batch_size), call.total_kv_len / call.batch_size)


def _invert(_config: MlaDecodeConfig, coords: Coords) -> MlaDecodeInput:
    batch_size, kv_len = coords
    return MlaDecodeInput(batch_size=round(batch_size), total_kv_len=round(batch_size * kv_len))


KERNEL = KernelKind(
    kind="mla_decode",
    config=MlaDecodeConfig,
    input=MlaDecodeInput,
    axes=("batch_size", "kv_len"),
    args=("batch_size", "kv_len", *LATENT_ARGS),
    sweep_grid=_grid,
    reaxis=Reaxis(_project, _invert),
    work_model=work,
    cache="work_nd",
    feasible=_feasible,
)
