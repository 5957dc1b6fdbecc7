"""`context_attention`: prefill of `isl` new tokens a request, after `step` cached ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.attention import NUMBERS, OPTIONAL, TEXTS, shared_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """`isl` tokens are new; `step` tokens are the cached prefix."""
    return {
        "batch_size": judge.whole("batch_size", least=1),
        "q_len": judge.whole("isl", least=1),
        "prefix_len": judge.whole("step", least=0),
        **shared_args(judge),
    }


TABLE = Table(
    name="context_attention",
    kind="attention_prefill",
    family="attention",
    stems=("context_attention_perf",),
    numbers=NUMBERS,
    texts=TEXTS,
    optional_numbers=OPTIONAL,
    operations=frozenset({"context_attention"}),
    args=args,
    grows_with=("q_len", "batch_size"),
)
