"""`rms_norm`: divide each row by its root mean square, times a weight.

A norm over heads (q_norm, k_norm) is the same kernel over num_tokens = tokens times heads rows of head_dim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from servingsim.timing.contract import COMPUTE_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Rows, Width
from servingsim.timing.grid import streamed_tokens
from servingsim.timing.work import rms_norm as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


class RmsNormConfig(KernelConfig):
    """The rows that are normalised."""

    hidden_size: Width = Field(description="elements of a row")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of rows and weight")
    max_num_tokens: Rows = Field(16384, description="largest num_tokens of the grid")


class RmsNormInput(KernelInput):
    """One call."""

    num_tokens: Rows = Field(description="rows")


def _fixed(config: RmsNormConfig) -> dict[str, ArgValue]:
    return {"hidden_size": config.hidden_size, "dtype": config.dtype}


def _grid(config: RmsNormConfig) -> tuple[tuple[int, ...], ...]:
    return (streamed_tokens(config.max_num_tokens),)


def _project(_config: RmsNormConfig, call: RmsNormInput) -> Coords:
    return (float(call.num_tokens),)


def _invert(_config: RmsNormConfig, coords: Coords) -> RmsNormInput:
    return RmsNormInput(num_tokens=round(coords[0]))


def _work(config: RmsNormConfig, coords: FloatArray) -> Work:
    return work_model.work(num_tokens=coords[..., 0], hidden_size=config.hidden_size, dtype=config.dtype)


KERNEL = KernelKind(
    kind="rms_norm",
    config=RmsNormConfig,
    input=RmsNormInput,
    axes=("num_tokens",),
    args=("num_tokens", "hidden_size", "dtype"),
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="work_nd",
)
