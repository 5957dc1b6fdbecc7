"""`gated_delta_decode`: one step of the gated delta rule for each request: its state read, changed and written."""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.contract import KernelInput, KernelKind
from servingsim.timing.delta_heads import DELTA_ARGS, SAME_LAUNCH, DeltaHeadsConfig
from servingsim.timing.fields import Requests
from servingsim.timing.grid import batch_sizes
from servingsim.timing.work.gated_delta_decode import work


class GatedDeltaDecodeConfig(DeltaHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_batch_size: Requests = Field(512, description="largest batch_size of the grid")


class GatedDeltaDecodeInput(KernelInput):
    """One call. How long the requests are does not matter: their states have one size."""

    batch_size: Requests = Field(description="requests")


def _grid(config: GatedDeltaDecodeConfig) -> tuple[tuple[int, ...], ...]:
    return (batch_sizes(config.max_batch_size),)


KERNEL = KernelKind(
    kind="gated_delta_decode",
    config=GatedDeltaDecodeConfig,
    input=GatedDeltaDecodeInput,
    axes=("batch_size",),
    args=("batch_size", *DELTA_ARGS),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=SAME_LAUNCH,
)
