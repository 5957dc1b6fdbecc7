"""`all_reduce`: sum a message over the ranks of a group, so that every rank holds the sum."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import MessageBytes, RanksOfGroup, whole_elements
from servingsim.timing.grid import message_sizes
from servingsim.timing.work.all_reduce import work


class AllReduceConfig(KernelConfig):
    """The group."""

    num_ranks: RanksOfGroup = Field(description="ranks of the group; one rank needs no all_reduce")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the summed elements")
    max_message_bytes: MessageBytes = Field(2**28, description="largest message of the grid, whole elements")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        whole_elements(self.max_message_bytes, self.dtype)
        return self


class AllReduceInput(KernelInput):
    """One call."""

    message_bytes: MessageBytes = Field(description="bytes that each rank contributes")


def _grid(config: AllReduceConfig) -> tuple[tuple[int, ...], ...]:
    return (message_sizes(config.max_message_bytes),)


KERNEL = KernelKind(
    kind="all_reduce",
    config=AllReduceConfig,
    input=AllReduceInput,
    axes=("message_bytes",),
    args=("num_ranks", "message_bytes", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    over_link=True,
)
