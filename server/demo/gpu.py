"""A large model on H100, from rows that were measured elsewhere and imported."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from profiling.source import StoreSource
from profiling.store import Store
from server.demo.report import GpuRow
from servingsim.archs.hf_config import read_facts
from servingsim.archs.models import config_path
from servingsim.archs.stack_registry import stack_named
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.archs.facts import DenseFacts

MODEL = "llama-3.1-8b"
SYSTEM, STACK, DEVICE = "h100_sxm", "vllm", "NVIDIA H100 80GB HBM3"
RANKS = (1, 2, 4, 8)
BATCHES = {
    "prefill 2048": Batch.of(prefill=[[2048, 0]]),
    "decode batch 1, context 2048": Batch.of(decode=[2049]),
    "decode batch 64, context 2048": Batch.of(decode=[2049] * 64),
}
TABLES = ("gemm", "context_attention", "generation_attention", "custom_allreduce", "nccl")


def import_rows(path: Path) -> str:
    """Import what the model needs, unless it is there; returns where it comes from, or why there is none."""
    if importlib.util.find_spec("aiconfigurator_core") is None:
        return "not imported: pip install 'servingsim[gpu-data]' brings measured GPU rows"
    from profiling.importers.aiconfigurator import IMPORTER  # noqa: PLC0415 - only where its data is

    if not path.exists():
        with Store.open(path, create=True) as store:
            IMPORTER.run(store, system=SYSTEM, stack=STACK, table=TABLES)
    return f"rows of {SYSTEM}, {STACK}, imported from aiconfigurator-core"


def predictions(path: Path) -> list[GpuRow]:
    """The batches at every tensor-parallel degree."""
    if not path.exists():
        return []
    facts = read_facts(config_path(MODEL))
    with Store.open(path, read_only=True) as store:
        source = StoreSource(store)
        return [_row(facts, source, tp, label) for label in BATCHES for tp in RANKS]


def _row(facts: DenseFacts, source: StoreSource, tp: int, label: str) -> GpuRow:
    options = PredictOptions(device=DEVICE, stack=stack_named(STACK), tp=tp)
    report = predict(facts, BATCHES[label], source, options)
    return GpuRow(
        tp=tp,
        label=label,
        iteration_ms=report.iteration_ms,
        bound_ms=report.bound_ms,
        covered_share=1 - report.uncovered_share,
        coverage=report.coverage,
        kv_capacity_tokens=report.memory.kv_capacity_tokens,
    )
