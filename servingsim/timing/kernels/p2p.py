"""`p2p`: send a message from one rank to another, as between the stages of a pipeline."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import MessageBytes, whole_elements
from servingsim.timing.grid import message_sizes
from servingsim.timing.work.p2p import work


class P2pConfig(KernelConfig):
    """What is sent."""

    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the sent elements")
    max_message_bytes: MessageBytes = Field(2**28, description="largest message of the grid, whole elements")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        whole_elements(self.max_message_bytes, self.dtype)
        return self


class P2pInput(KernelInput):
    """One call."""

    message_bytes: MessageBytes = Field(description="bytes sent")


def _grid(config: P2pConfig) -> tuple[tuple[int, ...], ...]:
    return (message_sizes(config.max_message_bytes),)


KERNEL = KernelKind(
    kind="p2p",
    config=P2pConfig,
    input=P2pInput,
    axes=("message_bytes",),
    args=("message_bytes", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    over_link=True,
)
