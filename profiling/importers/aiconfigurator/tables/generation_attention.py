"""`generation_attention`: one new token a request, over `isl + step` keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.attention import NUMBERS, OPTIONAL, TEXTS, shared_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """The new token (`isl` = 1) attends to itself and to `step` cached ones."""
    new_tokens = judge.whole("isl", least=1)
    judge.refuse(new_tokens != 1, "isl is not 1: a decode step makes one token")
    return {
        "batch_size": judge.whole("batch_size", least=1),
        "kv_len": new_tokens + judge.whole("step", least=0),
        **shared_args(judge),
    }


TABLE = Table(
    name="generation_attention",
    kind="attention_decode",
    family="attention",
    stems=("generation_attention_perf",),
    numbers=NUMBERS,
    texts=TEXTS,
    optional_numbers=OPTIONAL,
    operations=frozenset({"generation_attention"}),
    args=args,
    grows_with=("kv_len", "batch_size"),
)
