"""`fused_moe`: the routed experts of a layer on one rank: gate and up, activation, down, in one callable."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig, KernelInput, KernelKind
from servingsim.timing.fields import Distribution, Experts, Ranks, Tokens, Width, weight_fits
from servingsim.timing.grid import matrix_rows
from servingsim.timing.work.fused_moe import work


class FusedMoeConfig(KernelConfig):
    """The experts of the whole layer, and how they are split over ranks."""

    hidden_size: Width = Field(description="elements of a token")
    inter_size: Width = Field(description="intermediate size of one expert, before the TP split")
    topk: Experts = Field(description="experts that each token goes to")
    num_experts: Experts = Field(description="routed experts of the layer, before the EP split")
    moe_tp_size: Ranks = Field(1, description="ranks that share each expert; divides inter_size")
    moe_ep_size: Ranks = Field(1, description="ranks that share the set of experts; divides num_experts")
    distribution: Distribution = Field(
        "balanced", description="how tokens spread over experts, as rows name it"
    )
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of the expert weights")
    max_num_tokens: Tokens = Field(16384, description="largest num_tokens of the grid")

    @model_validator(mode="after")
    def _whole_shares(self) -> Self:
        if self.topk > self.num_experts:
            raise ValueError(f"topk {self.topk} exceeds num_experts {self.num_experts}")
        if self.num_experts % self.moe_ep_size:
            raise ValueError(
                f"num_experts {self.num_experts} is no multiple of moe_ep_size {self.moe_ep_size}"
            )
        if self.inter_size % self.moe_tp_size:
            raise ValueError(f"inter_size {self.inter_size} is no multiple of moe_tp_size {self.moe_tp_size}")
        local_elements = (
            3 * self.hidden_size * self.inter_size * self.num_experts // self.moe_tp_size // self.moe_ep_size
        )
        sizes = (
            f"hidden_size {self.hidden_size}, inter_size {self.inter_size} and num_experts {self.num_experts}"
        )
        weight_fits(local_elements, self.dtype, sizes)
        return self


class FusedMoeInput(KernelInput):
    """One call."""

    num_tokens: Tokens = Field(description="tokens that are routed, over all expert ranks")


def _grid(config: FusedMoeConfig) -> tuple[tuple[int, ...], ...]:
    return (matrix_rows(config.max_num_tokens),)


KERNEL = KernelKind(
    kind="fused_moe",
    config=FusedMoeConfig,
    input=FusedMoeInput,
    axes=("num_tokens",),
    args=(
        "num_tokens",
        "hidden_size",
        "inter_size",
        "topk",
        "num_experts",
        "moe_tp_size",
        "moe_ep_size",
        "distribution",
        "dtype",
    ),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    interpolated=("topk", "num_experts", "hidden_size", "inter_size", "moe_ep_size", "moe_tp_size"),
    carries=True,
)
"""Fields in this order: with whole models held out, times of SGLang's fp8 experts on H200 are read to 18 % (their
roofline: 71 %), with `hidden_size` first to 15 %, but TensorRT-LLM's bf16 ones on H100 to 53 % in place of 52."""
