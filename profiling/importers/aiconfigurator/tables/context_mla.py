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

Against TensorRT-LLM's table of the same card (large shapes, SGLang 0.5.14): 3.3 times as long on H100 and H200, which
is the ratio of the two forms' FLOPs, 7 and 8 times with Triton on L40S and RTX PRO 6000, but 0.95 with trtllm_mla on
B200. Over absorbed heads the H100's largest row is 617 TFLOP/s, over expanded ones 181, where TensorRT-LLM does 584.
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
