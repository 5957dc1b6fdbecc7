"""`all_gather`: every rank gives a message, and every rank ends with the messages of all."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import MessageBytes, RanksOfGroup, whole_elements
from servingsim.timing.grid import message_sizes
from servingsim.timing.work.all_gather import work


class AllGatherConfig(KernelConfig):
    """The group."""

    num_ranks: RanksOfGroup = Field(description="ranks of the group; one rank needs no all_gather")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the gathered elements")
    max_message_bytes: MessageBytes = Field(2**28, description="largest message of the grid, whole elements")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        whole_elements(self.max_message_bytes, self.dtype)
        return self


class AllGatherInput(KernelInput):
    """One call."""

    message_bytes: MessageBytes = Field(description="bytes that each rank gives")


def _grid(config: AllGatherConfig) -> tuple[tuple[int, ...], ...]:
    return (message_sizes(config.max_message_bytes),)


KERNEL = KernelKind(
    kind="all_gather",
    config=AllGatherConfig,
    input=AllGatherInput,
    axes=("message_bytes",),
    args=("num_ranks", "message_bytes", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    over_link=True,
)
