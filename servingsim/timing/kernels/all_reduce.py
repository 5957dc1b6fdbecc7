"""`all_reduce`: sum a message over the ranks of a group, so that every rank holds the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import MessageBytes, RanksOfGroup, whole_elements
from servingsim.timing.grid import message_sizes
from servingsim.timing.work import all_reduce as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


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


def _fixed(config: AllReduceConfig) -> dict[str, ArgValue]:
    return {"num_ranks": config.num_ranks, "dtype": config.dtype}


def _grid(config: AllReduceConfig) -> tuple[tuple[int, ...], ...]:
    return (message_sizes(config.max_message_bytes),)


def _project(_config: AllReduceConfig, call: AllReduceInput) -> Coords:
    return (float(call.message_bytes),)


def _invert(_config: AllReduceConfig, coords: Coords) -> AllReduceInput:
    return AllReduceInput(message_bytes=round(coords[0]))


def _work(config: AllReduceConfig, coords: FloatArray) -> Work:
    return work_model.work(message_bytes=coords[..., 0], num_ranks=config.num_ranks, dtype=config.dtype)


KERNEL = KernelKind(
    kind="all_reduce",
    config=AllReduceConfig,
    input=AllReduceInput,
    axes=("message_bytes",),
    args=("num_ranks", "message_bytes", "dtype"),
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="work_nd",
    over_link=True,
)
