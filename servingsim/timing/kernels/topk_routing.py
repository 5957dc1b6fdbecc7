"""`topk_routing`: a score for each expert becomes each token's experts and their weights, in one callable.

The product that gives the scores is a `single_gemm`; what sorts tokens by expert belongs to the experts' kernel.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Experts, Rows, topk_fits
from servingsim.timing.grid import streamed_tokens
from servingsim.timing.work.topk_routing import work


class TopkRoutingConfig(KernelConfig):
    """The router of a layer; every rank routes its own tokens over all experts."""

    num_experts: Experts = Field(description="routed experts of the layer")
    topk: Experts = Field(description="experts that each token goes to")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the scores")
    max_num_tokens: Rows = Field(16384, description="largest num_tokens of the grid")

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        topk_fits(self.topk, self.num_experts)
        return self


class TopkRoutingInput(KernelInput):
    """One call."""

    num_tokens: Rows = Field(description="tokens that are routed")


def _grid(config: TopkRoutingConfig) -> tuple[tuple[int, ...], ...]:
    return (streamed_tokens(config.max_num_tokens),)


KERNEL = KernelKind(
    kind="topk_routing",
    config=TopkRoutingConfig,
    input=TopkRoutingInput,
    axes=("num_tokens",),
    args=("num_tokens", "num_experts", "topk", "dtype"),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
)
