"""`elementwise`: a memory-bound operation, sized by the bytes it reads and writes for each token.

The no-skip floor: whatever launches and has no kind of its own is priced here, never dropped.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import ElementwiseOp, Rows, TokenBytes
from servingsim.timing.grid import streamed_tokens
from servingsim.timing.work.elementwise import work


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


def _grid(config: ElementwiseConfig) -> tuple[tuple[int, ...], ...]:
    return (streamed_tokens(config.max_num_tokens),)


KERNEL = KernelKind(
    kind="elementwise",
    config=ElementwiseConfig,
    input=ElementwiseInput,
    axes=("num_tokens",),
    args=("num_tokens", "op", "input_bytes_per_token", "output_bytes_per_token", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
)
