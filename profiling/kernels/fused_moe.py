"""`fused_moe`: the routed experts of one layer on one rank: gate / up, activation, down in one callable."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from profiling.arg_limits import Experts, Ranks, Rows, Width
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import fused_moe


class FusedMoeArgs(KernelArgs):
    """One launch of the routed experts."""

    num_tokens: Rows
    """Tokens before routing."""
    hidden_size: Width
    """Model width."""
    inter_size: Width
    """Width of one expert before the tensor-parallel split."""
    topk: Experts
    """Experts a token."""
    num_experts: Experts
    """Experts of the layer."""
    moe_tp_size: Ranks
    """Ranks that each expert is split over."""
    moe_ep_size: Ranks
    """Ranks that the experts are spread over."""
    distribution: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.]{0,63}$")]
    """How tokens spread over the experts: `balanced`, `uniform`, `power_law_1.2` …"""
    dtype: Dtype
    """Element type of the weights."""

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.topk > self.num_experts:
            raise ValueError(f"topk {self.topk} is more than num_experts {self.num_experts}")
        if self.moe_ep_size > self.num_experts:
            raise ValueError(f"moe_ep_size {self.moe_ep_size} is more than num_experts {self.num_experts}")
        return self


KIND = KernelKind(
    name="fused_moe",
    args=FusedMoeArgs,
    family="compute",
    work=fused_moe.work,
    smoke={
        "num_tokens": 16,
        "hidden_size": 128,
        "inter_size": 64,
        "topk": 2,
        "num_experts": 4,
        "moe_tp_size": 1,
        "moe_ep_size": 1,
        "distribution": "balanced",
        "dtype": "bf16",
    },
    dtype_fields={"compute": "dtype"},
)
