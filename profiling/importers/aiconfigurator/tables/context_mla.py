"""`context_mla`: the core of latent attention over `isl` new tokens a request, keys and values expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.columns import Text
from profiling.importers.aiconfigurator.latent import NUMBERS, TEXTS, latent_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge

ABSORBED = {("sglang", "flash_attention"), ("sglang", "triton")}
"""Rows measured over absorbed heads, 576 and 512 elements wide, where a prefill's are 192 and 128.

H100, 128 heads, 4 requests of 2048 tokens in bf16: 4.4 ms as flash_attention of SGLang 0.5.14, 1.4 ms in TensorRT-LLM's
table. Over absorbed heads that is 520 TFLOP/s, over expanded ones 150: the kernel reaches the former elsewhere.
"""


def args(judge: Judge) -> Args:
    """`isl` tokens are new; `step` tokens are the cached prefix."""
    texts = judge.columns.texts
    judge.refuse_texts(
        Text.join([texts["framework"], texts["kernel_source"]], lambda *names: "\n".join(names)), _absorbed
    )
    return {
        "batch_size": judge.whole("batch_size", least=1),
        "q_len": judge.whole("isl", least=1),
        "prefix_len": judge.whole("step", least=0),
        **latent_args(judge),
    }


def _absorbed(names: str) -> str:
    framework, _, kernel = names.partition("\n")
    if (framework.lower(), kernel) in ABSORBED:
        return f"{kernel} of {framework}: measured over absorbed heads, which a prefill does not have"
    return ""


TABLE = Table(
    name="context_mla",
    kind="mla_prefill",
    family="mla",
    stems=("context_mla_perf",),
    numbers=NUMBERS,
    texts=TEXTS,
    operations=frozenset({"mla_context"}),
    args=args,
    grows_with=("q_len", "batch_size"),
)
