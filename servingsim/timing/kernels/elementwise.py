"""`elementwise`: a memory-bound operation, sized by the bytes it reads and writes for each token.

The no-skip floor: whatever launches and has no kind of its own is priced here, never dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from servingsim.timing.contract import COMPUTE_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import ElementwiseOp, Rows, TokenBytes
from servingsim.timing.grid import streamed_tokens
from servingsim.timing.work import elementwise as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


class ElementwiseConfig(KernelConfig):
    """Which callable, and how many bytes a token it moves."""

    op: ElementwiseOp = Field(description="the callable that is measured")
    input_bytes_per_token: TokenBytes = Field(description="bytes read for each token, all operands")
    output_bytes_per_token: TokenBytes = Field(description="bytes written for each token")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the elements")
    max_num_tokens: Rows = Field(16384, description="largest num_tokens of the grid")


class ElementwiseInput(KernelInput):
    """One call."""

    num_tokens: Rows = Field(description="tokens of the iteration")


def _fixed(config: ElementwiseConfig) -> dict[str, ArgValue]:
    return {
        "op": config.op,
        "input_bytes_per_token": config.input_bytes_per_token,
        "output_bytes_per_token": config.output_bytes_per_token,
        "dtype": config.dtype,
    }


def _grid(config: ElementwiseConfig) -> tuple[tuple[int, ...], ...]:
    return (streamed_tokens(config.max_num_tokens),)


def _project(_config: ElementwiseConfig, call: ElementwiseInput) -> Coords:
    return (float(call.num_tokens),)


def _invert(_config: ElementwiseConfig, coords: Coords) -> ElementwiseInput:
    return ElementwiseInput(num_tokens=round(coords[0]))


def _work(config: ElementwiseConfig, coords: FloatArray) -> Work:
    return work_model.work(
        num_tokens=coords[..., 0],
        op=config.op,
        input_bytes_per_token=config.input_bytes_per_token,
        output_bytes_per_token=config.output_bytes_per_token,
        dtype=config.dtype,
    )


KERNEL = KernelKind(
    kind="elementwise",
    config=ElementwiseConfig,
    input=ElementwiseInput,
    axes=("num_tokens",),
    args=("num_tokens", "op", "input_bytes_per_token", "output_bytes_per_token", "dtype"),
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="work_nd",
)
