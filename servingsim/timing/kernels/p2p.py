"""`p2p`: send a message from one rank to another, as between the stages of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import MessageBytes, whole_elements
from servingsim.timing.grid import message_sizes
from servingsim.timing.work import p2p as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


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


def _fixed(config: P2pConfig) -> dict[str, ArgValue]:
    return {"dtype": config.dtype}


def _grid(config: P2pConfig) -> tuple[tuple[int, ...], ...]:
    return (message_sizes(config.max_message_bytes),)


def _project(_config: P2pConfig, call: P2pInput) -> Coords:
    return (float(call.message_bytes),)


def _invert(_config: P2pConfig, coords: Coords) -> P2pInput:
    return P2pInput(message_bytes=round(coords[0]))


def _work(config: P2pConfig, coords: FloatArray) -> Work:
    return work_model.work(message_bytes=coords[..., 0], dtype=config.dtype)


KERNEL = KernelKind(
    kind="p2p",
    config=P2pConfig,
    input=P2pInput,
    axes=("message_bytes",),
    args=("message_bytes", "dtype"),
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="work_nd",
    over_link=True,
)
