"""`mamba2_prefill`: the state-space scan of Mamba-2 over the new tokens of a prefill, chunk by chunk in one callable.

Convolution, gate and the norm of the output are other kernels. The state that a chunk of a prompt leaves behind has
one size however long the prompt is, so that cached tokens are no axis.
"""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.contract import Coords, KernelInput, KernelKind
from servingsim.timing.fields import Requests, Tokens
from servingsim.timing.grid import batch_sizes, query_lengths
from servingsim.timing.ssm_heads import SAME_LAUNCH, SSM_ARGS, SsmHeadsConfig
from servingsim.timing.work.mamba2_prefill import work


class Mamba2PrefillConfig(SsmHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_num_tokens: Tokens = Field(16384, description="new tokens of an iteration: bounds batch_size * q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")


class Mamba2PrefillInput(KernelInput):
    """One call over requests of equal shape."""

    batch_size: Requests = Field(description="requests")
    q_len: Tokens = Field(description="new tokens of each request")


def _grid(config: Mamba2PrefillConfig) -> tuple[tuple[int, ...], ...]:
    return (batch_sizes(config.max_batch_size, factor=4), query_lengths(config.max_num_tokens))


def _feasible(config: Mamba2PrefillConfig, coords: Coords) -> bool:
    batch_size, q_len = coords
    return batch_size * q_len <= config.max_num_tokens


KERNEL = KernelKind(
    kind="mamba2_prefill",
    config=Mamba2PrefillConfig,
    input=Mamba2PrefillInput,
    axes=("batch_size", "q_len"),
    args=("batch_size", "q_len", *SSM_ARGS),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
    feasible=_feasible,
)
