"""`rms_norm`: divide each row by its root mean square, times a weight.

A norm over heads (q_norm, k_norm) is the same kernel over num_tokens = tokens times heads rows of head_dim.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Rows, Width
from servingsim.timing.grid import streamed_tokens
from servingsim.timing.work.rms_norm import work


class RmsNormConfig(KernelConfig):
    """The rows that are normalised."""

    hidden_size: Width = Field(description="elements of a row")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of rows and weight")
    max_num_tokens: Rows = Field(16384, description="largest num_tokens of the grid")


class RmsNormInput(KernelInput):
    """One call."""

    num_tokens: Rows = Field(description="rows")


def _grid(config: RmsNormConfig) -> tuple[tuple[int, ...], ...]:
    return (streamed_tokens(config.max_num_tokens),)


KERNEL = KernelKind(
    kind="rms_norm",
    config=RmsNormConfig,
    input=RmsNormInput,
    axes=("num_tokens",),
    args=("num_tokens", "hidden_size", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
)
