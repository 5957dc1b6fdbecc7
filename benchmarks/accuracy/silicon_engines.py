"""How the engines of the rows batch: their own defaults, and what the published recipes of InferenceX set.

Rows do not say the arguments of their engine. Those of InferenceX are in its repository (`benchmarks/single_node`, one
script for each model, precision and GPU): no prefix cache, ten requests a client, prompts in chunks of 16,384 or 32,768
tokens with SGLang, 8,192 with vLLM, and an fp8 cache on B200. Nothing here was chosen by looking at a measured TPOT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.sim.serving.deployment import Scheduler

if TYPE_CHECKING:
    from benchmarks.accuracy.silicon_rows import Case, Served
    from servingsim.timing.contract import Dtype

MAX_SEQS = 512


@dataclass(frozen=True)
class Engine:
    """What serves, and how it batches.

    Attributes:
        stack: Whose launches.
        scheduler: How iterations are formed.
        kv_dtype: Of the cache; None: the config's.
    """

    stack: str
    scheduler: Scheduler
    kv_dtype: Dtype | None = None


TRTLLM_DEFAULTS = Scheduler(max_num_tokens=8192, max_num_seqs=2048, chunked_prefill=False, max_model_len=8192)
"""`trtllm-serve`: prompts are not cut, at most 8,192 new tokens an iteration; these runs fit in 8,192 tokens each."""


def engine_of(case: Case) -> Engine:
    """The engine of a row, as far as its recipe or its defaults tell."""
    served = case.served
    longest = case.prompt_tokens + case.output_tokens + 8
    if served.backend == "trtllm":
        return Engine("trtllm", TRTLLM_DEFAULTS)
    if served.backend == "vllm":
        # From 0.14 on vLLM plans an iteration while the one before it runs.
        vllm = Scheduler(
            max_num_tokens=8192, max_num_seqs=MAX_SEQS, max_model_len=longest, async_scheduling=True
        )
        return Engine("vllm", vllm)
    sglang = Scheduler(
        policy="sglang", max_num_tokens=_chunk(served, case), max_num_seqs=MAX_SEQS, max_model_len=longest
    )
    return Engine("sglang", sglang, kv_dtype=_kv_dtype(served, case))


def _chunk(served: Served, case: Case) -> int:
    """`--chunked-prefill-size`: SGLang's default for Hopper is 8,192; recipes set their own."""
    if case.shortest == 1.0:
        return 8192
    if "Qwen3.5" in served.model:
        return 16384 if served.system == "h200_sxm" else 32768
    if "fp4" in served.gemm:
        return 16384
    return 8192 if case.split.tp == 4 else 32768


def _kv_dtype(served: Served, case: Case) -> Dtype | None:
    """`--kv-cache-dtype fp8_e4m3` in the recipes of B200, and of Qwen3.5 on H200."""
    recipe = case.shortest < 1.0 and (served.system == "b200_sxm" or "Qwen3.5" in served.model)
    return "fp8" if recipe else None
