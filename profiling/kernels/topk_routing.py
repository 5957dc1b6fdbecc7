"""`topk_routing`: scores of experts become each token's experts and their weights, in one callable."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import Experts, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import topk_routing


class TopkRoutingArgs(KernelArgs):
    """The choice of one layer's router."""

    num_tokens: Rows
    """Tokens that are routed."""
    num_experts: Experts
    """Experts of the layer."""
    topk: Experts
    """Experts a token."""
    dtype: Dtype
    """Element type of the scores."""

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.topk > self.num_experts:
            raise ValueError(f"topk {self.topk} is more than num_experts {self.num_experts}")
        return self


KIND = KernelKind(
    name="topk_routing",
    args=TopkRoutingArgs,
    family="memory",
    work=topk_routing.work,
    smoke={
        "num_tokens": 16,
        "num_experts": 8,
        "topk": 2,
        "dtype": "fp32",
    },
    dtype_fields={"compute": "dtype"},
)
