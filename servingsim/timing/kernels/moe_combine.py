"""`moe_combine`: the ranks that hold experts send results back, and every rank sums them up for its tokens."""

from __future__ import annotations

from servingsim.timing.contract import KernelKind
from servingsim.timing.expert_ranks import EXCHANGE_ARGS, ExpertRanksConfig, ExpertRanksInput, exchange_grid
from servingsim.timing.work.moe_combine import work

KERNEL = KernelKind(
    kind="moe_combine",
    config=ExpertRanksConfig,
    input=ExpertRanksInput,
    axes=("num_tokens",),
    args=EXCHANGE_ARGS,
    sweep_grid=exchange_grid,
    work_model=work,
    cache="work_nd",
    over_link=True,
)
