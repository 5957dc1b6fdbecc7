"""`moe_combine`: experts' results go back to the ranks of their tokens and are summed there."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import Experts, GroupRanks, Rows, Width
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import moe_combine


class MoeCombineArgs(KernelArgs):
    """One exchange after the experts."""

    num_tokens: Rows
    """Tokens of each rank."""
    hidden_size: Width
    """Elements of a token."""
    topk: Experts
    """Experts a token."""
    num_experts: Experts
    """Experts of the layer, over all ranks."""
    num_ranks: GroupRanks
    """Ranks that the experts are spread over."""
    dtype: Dtype
    """Element type of what is sent."""

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.topk > self.num_experts:
            raise ValueError(f"topk {self.topk} is more than num_experts {self.num_experts}")
        if self.num_ranks > self.num_experts:
            raise ValueError(f"num_ranks {self.num_ranks} is more than num_experts {self.num_experts}")
        return self


KIND = KernelKind(
    name="moe_combine",
    args=MoeCombineArgs,
    family="collective",
    work=moe_combine.work,
    smoke={
        "num_tokens": 16,
        "hidden_size": 128,
        "topk": 2,
        "num_experts": 8,
        "num_ranks": 2,
        "dtype": "fp32",
    },
    dtype_fields={"compute": "dtype"},
)
