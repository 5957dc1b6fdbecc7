"""`moe_dispatch`: every rank sends its tokens to the ranks that hold their experts (all-to-all)."""

from __future__ import annotations

from servingsim.timing.contract import KernelKind
from servingsim.timing.expert_ranks import EXCHANGE_ARGS, ExpertRanksConfig, ExpertRanksInput, exchange_grid
from servingsim.timing.work.moe_dispatch import work

KERNEL = KernelKind(
    kind="moe_dispatch",
    config=ExpertRanksConfig,
    input=ExpertRanksInput,
    axes=("num_tokens",),
    args=EXCHANGE_ARGS,
    sweep_grid=exchange_grid,
    work_model=work,
    cache="work_nd",
    over_link=True,
)
