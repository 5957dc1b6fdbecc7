"""`single_gemm`: a linear layer, x[m, k] times the transposed weight w[n, k]; m is the iteration's tokens."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Rows, Width, weight_fits
from servingsim.timing.grid import product_rows
from servingsim.timing.work.single_gemm import work


class SingleGemmConfig(KernelConfig):
    """The weight of a linear layer on one rank."""

    n: Width = Field(description="output features on this rank")
    k: Width = Field(description="input features on this rank")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of both operands")
    max_m: Rows = Field(16384, description="largest m of the grid")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        weight_fits(self.n * self.k, self.dtype, f"n {self.n} and k {self.k}")
        return self


class SingleGemmInput(KernelInput):
    """One call."""

    m: Rows = Field(description="rows: tokens of the iteration, sampled positions for a lm_head")


def _grid(config: SingleGemmConfig) -> tuple[tuple[int, ...], ...]:
    return (product_rows(config.max_m),)


KERNEL = KernelKind(
    kind="single_gemm",
    config=SingleGemmConfig,
    input=SingleGemmInput,
    axes=("m",),
    args=("m", "n", "k", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="gemm_tiles",
    interpolated=("n", "k"),
)
