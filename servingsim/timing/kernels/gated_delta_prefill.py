"""`gated_delta_prefill`: the gated delta rule over the new tokens of a prefill, chunk by chunk in one callable.

Convolution, gates and the norm of the output are other kernels. The state that a chunk of a prompt leaves behind has
one size however long the prompt is, so that cached tokens are no axis.
"""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.contract import Coords, KernelInput, KernelKind
from servingsim.timing.delta_heads import DELTA_ARGS, SAME_LAUNCH, DeltaHeadsConfig
from servingsim.timing.fields import Requests, Tokens
from servingsim.timing.grid import batch_sizes, query_lengths, up_to
from servingsim.timing.work.gated_delta_prefill import work

CHUNK = 64
"""Tokens of a chunk: a length is filled up to a multiple, so that one token more costs a whole chunk."""
LAST_EDGE = 1024
"""Beyond it a chunk is a few percent of the whole."""


class GatedDeltaPrefillConfig(DeltaHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_num_tokens: Tokens = Field(16384, description="new tokens of an iteration: bounds batch_size * q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")


class GatedDeltaPrefillInput(KernelInput):
    """One call over requests of equal shape."""

    batch_size: Requests = Field(description="requests")
    q_len: Tokens = Field(description="new tokens of each request")


def _grid(config: GatedDeltaPrefillConfig) -> tuple[tuple[int, ...], ...]:
    lengths = query_lengths(config.max_num_tokens)
    over = [length + 1 for length in lengths if CHUNK <= length <= LAST_EDGE]
    return (batch_sizes(config.max_batch_size, factor=4), up_to(config.max_num_tokens, [*lengths, *over]))


def _feasible(config: GatedDeltaPrefillConfig, coords: Coords) -> bool:
    batch_size, q_len = coords
    return batch_size * q_len <= config.max_num_tokens


KERNEL = KernelKind(
    kind="gated_delta_prefill",
    config=GatedDeltaPrefillConfig,
    input=GatedDeltaPrefillInput,
    axes=("batch_size", "q_len"),
    args=("batch_size", "q_len", *DELTA_ARGS),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
    feasible=_feasible,
)
