"""`grouped_gemm`: one (n, k) product for each group (expert), m rows spread evenly over the groups."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Experts, Rows, Width, weight_fits
from servingsim.timing.grid import matrix_rows
from servingsim.timing.work.grouped_gemm import work


class GroupedGemmConfig(KernelConfig):
    """The weights of all groups on one rank."""

    num_groups: Experts = Field(description="weights on this rank, each with its share of the rows")
    n: Width = Field(description="output features of each weight")
    k: Width = Field(description="input features of each weight")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of both operands")
    max_m: Rows = Field(16384, description="largest m of the grid")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        weight_fits(
            self.num_groups * self.n * self.k,
            self.dtype,
            f"num_groups {self.num_groups}, n {self.n} and k {self.k}",
        )
        return self


class GroupedGemmInput(KernelInput):
    """One call."""

    m: Rows = Field(description="rows of all groups together: tokens times experts a token on this rank")


def _grid(config: GroupedGemmConfig) -> tuple[tuple[int, ...], ...]:
    return (matrix_rows(config.max_m),)


KERNEL = KernelKind(
    kind="grouped_gemm",
    config=GroupedGemmConfig,
    input=GroupedGemmInput,
    axes=("m",),
    args=("m", "num_groups", "n", "k", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
)
