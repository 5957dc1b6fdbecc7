"""`attention_mixed`: what an engine's attention layer does in one iteration, a prefill chunk beside decode requests.

Modern engines give all requests of an iteration to one launch. What a decode costs beside a chunk is not what it costs
alone: the launch is shaped for the chunk, and its tail is shared. So the two are one kernel with both sizes as axes; an
iteration of decodes alone has q_len 0, one of a chunk alone num_decodes 0. The layer also writes the new tokens' keys
and values into the cache.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.attention_domain import keys_bound
from servingsim.timing.attention_heads import AttentionHeadsConfig
from servingsim.timing.contract import Coords, KernelInput, KernelKind
from servingsim.timing.fields import Context, KvTokens, Prefix, Requests, Tokens
from servingsim.timing.grid import evenly
from servingsim.timing.work.attention_mixed import work

NoneOrTokens = Annotated[int, Field(strict=True, ge=0, le=2**20)]
NoneOrRequests = Annotated[int, Field(strict=True, ge=0, le=2**13)]


class AttentionMixedConfig(AttentionHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_num_tokens: Tokens = Field(2048, description="new tokens of an iteration: bounds q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")
    max_kv_tokens: KvTokens = Field(2**22, description="keys of all requests: bounds num_decodes * kv_len")

    @model_validator(mode="after")
    def _sane(self) -> Self:
        keys_bound(self.max_kv_tokens, self.max_kv_len, self.max_batch_size)
        return self


class AttentionMixedInput(KernelInput):
    """One call: a chunk of one request, and decodes of equal length."""

    q_len: NoneOrTokens = Field(description="new tokens of the prefill chunk; 0: decodes alone")
    prefix_len: Prefix = Field(0, description="cached tokens before the chunk")
    num_decodes: NoneOrRequests = Field(0, description="decode requests; 0: a chunk alone")
    kv_len: Prefix = Field(0, description="keys of each decode request, its new token's included")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        parts_are_whole(self.q_len, self.prefix_len, self.num_decodes, self.kv_len)
        return self


def parts_are_whole(q_len: int, prefix_len: int, num_decodes: int, kv_len: int) -> None:
    """A part that is absent has no length, one that is there has keys, and one of them is there.

    Raises:
        ValueError: With the numbers, for pydantic.
    """
    if q_len == 0 and num_decodes == 0:
        raise ValueError("q_len 0 and num_decodes 0: nothing is launched")
    if q_len == 0 and prefix_len > 0:
        raise ValueError(f"prefix_len {prefix_len} without a chunk (q_len 0)")
    if (num_decodes == 0) != (kv_len == 0):
        raise ValueError(f"num_decodes {num_decodes} with kv_len {kv_len}: both are 0, or neither")


def _grid(config: AttentionMixedConfig) -> tuple[tuple[int, ...], ...]:
    """Coarse, since four axes multiply: between the points both parts are near linear in their work."""
    longest = config.max_kv_len
    return (
        (0, *evenly(32, min(config.max_num_tokens, longest), 5)),
        (0, *evenly(2048, longest, 2)),
        (0, *evenly(1, config.max_batch_size, 5)),
        (0, *evenly(64, longest, 5)),
    )


def _feasible(config: AttentionMixedConfig, coords: Coords) -> bool:
    q_len, prefix_len, num_decodes, kv_len = coords
    if (q_len == 0 and (num_decodes == 0 or prefix_len > 0)) or ((num_decodes == 0) != (kv_len == 0)):
        return False
    fits = q_len + prefix_len <= config.max_num_tokens + config.max_kv_len
    return fits and num_decodes * kv_len <= config.max_kv_tokens


KERNEL = KernelKind(
    kind="attention_mixed",
    config=AttentionMixedConfig,
    input=AttentionMixedInput,
    axes=("q_len", "prefix_len", "num_decodes", "kv_len"),
    args=(
        "q_len",
        "prefix_len",
        "num_decodes",
        "kv_len",
        "num_heads",
        "num_kv_heads",
        "head_dim",
        "dtype",
        "kv_dtype",
        "window_size",
    ),
    sweep_grid=_grid,
    work_model=work,
    cache="mixed_launch",
    feasible=_feasible,
)
