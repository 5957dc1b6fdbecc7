"""`generation_mla`: one new token a request over `isl + step` cached latents, absorbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.latent import NUMBERS, TEXTS, latent_args
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
        **latent_args(judge),
    }


TABLE = Table(
    name="generation_mla",
    kind="mla_decode",
    family="mla",
    stems=("generation_mla_perf",),
    numbers=NUMBERS,
    texts=TEXTS,
    operations=frozenset({"mla_generation"}),
    args=args,
    grows_with=("kv_len", "batch_size"),
)
