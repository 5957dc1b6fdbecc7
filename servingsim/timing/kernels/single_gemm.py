"""`single_gemm`: a linear layer, x[m, k] times the transposed weight w[n, k]; m is the iteration's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Rows, Width, weight_fits
from servingsim.timing.grid import matrix_rows
from servingsim.timing.work import single_gemm as work_model

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work


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


def _fixed(config: SingleGemmConfig) -> dict[str, ArgValue]:
    return {"n": config.n, "k": config.k, "dtype": config.dtype}


def _grid(config: SingleGemmConfig) -> tuple[tuple[int, ...], ...]:
    return (matrix_rows(config.max_m),)


def _project(_config: SingleGemmConfig, call: SingleGemmInput) -> Coords:
    return (float(call.m),)


def _invert(_config: SingleGemmConfig, coords: Coords) -> SingleGemmInput:
    return SingleGemmInput(m=round(coords[0]))


def _work(config: SingleGemmConfig, coords: FloatArray) -> Work:
    return work_model.work(m=coords[..., 0], n=config.n, k=config.k, dtype=config.dtype)


KERNEL = KernelKind(
    kind="single_gemm",
    config=SingleGemmConfig,
    input=SingleGemmInput,
    axes=("m",),
    args=("m", "n", "k", "dtype"),
    fixed=_fixed,
    sweep_grid=_grid,
    project=_project,
    invert=_invert,
    work=_work,
    cache="gemm_tiles",
    interpolated=("n", "k"),
)
