"""`mamba2_decode`: one step of the Mamba-2 state space for each request: its state read, changed and written."""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.contract import KernelInput, KernelKind
from servingsim.timing.fields import Requests
from servingsim.timing.grid import batch_sizes
from servingsim.timing.ssm_heads import SAME_LAUNCH, SSM_ARGS, SsmHeadsConfig
from servingsim.timing.work.mamba2_decode import work


class Mamba2DecodeConfig(SsmHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_batch_size: Requests = Field(512, description="largest batch_size of the grid")


class Mamba2DecodeInput(KernelInput):
    """One call. How long the requests are does not matter: their states have one size."""

    batch_size: Requests = Field(description="requests")


def _grid(config: Mamba2DecodeConfig) -> tuple[tuple[int, ...], ...]:
    return (batch_sizes(config.max_batch_size),)


KERNEL = KernelKind(
    kind="mamba2_decode",
    config=Mamba2DecodeConfig,
    input=Mamba2DecodeInput,
    axes=("batch_size",),
    args=("batch_size", *SSM_ARGS),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
)
