"""What the Configs of the two exchanges around spread experts share."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput
from servingsim.timing.fields import Experts, RanksOfGroup, Tokens, Width, topk_fits
from servingsim.timing.grid import matrix_rows

EXCHANGE_ARGS = ("num_tokens", "hidden_size", "topk", "num_experts", "num_ranks", "dtype")
"""The args of both kinds, in their order."""


class ExpertRanksConfig(KernelConfig):
    """Experts spread over ranks, and the tokens that go to them."""

    hidden_size: Width = Field(description="elements of a token")
    topk: Experts = Field(description="experts that each token goes to")
    num_experts: Experts = Field(description="routed experts of the layer, over all ranks")
    num_ranks: RanksOfGroup = Field(description="ranks that the experts are spread over; divides num_experts")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the elements that are sent")
    max_num_tokens: Tokens = Field(16384, description="largest num_tokens of the grid")

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        topk_fits(self.topk, self.num_experts)
        if self.num_experts % self.num_ranks:
            raise ValueError(f"num_experts {self.num_experts} is no multiple of num_ranks {self.num_ranks}")
        return self


class ExpertRanksInput(KernelInput):
    """One exchange."""

    num_tokens: Tokens = Field(description="tokens of each rank, before each goes to its experts")


def exchange_grid(config: ExpertRanksConfig) -> tuple[tuple[int, ...], ...]:
    """The sweep grid of both exchanges."""
    return (matrix_rows(config.max_num_tokens),)
