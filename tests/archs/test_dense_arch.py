"""The compiled model: its leaves in each stack, its work against the independent accountant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servingsim.archs.dense import DenseArch
from servingsim.archs.hf_config import read_facts
from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.archs.stacks.vllm import STACK as VLLM
from servingsim.sim.necessary import necessary
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.source import DeviceSpec, MemorySource
from servingsim.worklets import decoder
from servingsim.worklets.bounds import IterationBounds
from servingsim.worklets.site import BuildSite

if TYPE_CHECKING:
    from servingsim.worklets.stack import Stack

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "configs"
PEAKS = {"fp32": 1e12, "bf16": 1e13, "fp16": 1e13, "fp8": 2e13, "fp8_block": 2e13}
SOURCE = MemorySource({"dev": DeviceSpec("dev", PEAKS, 1e11, 8 * 10**10, link_bytes_per_s=1e10)})
"""No rows at all: every kernel is an estimate, which is enough to see structure and work."""


def arch_of(config: Path, stack: Stack, tp: int = 1) -> DenseArch:
    bounds = IterationBounds(max_num_tokens=8192, max_num_seqs=256, max_model_len=4096)
    return DenseArch.build(read_facts(config), BuildSite("dev", SOURCE, stack, "", bounds, "estimate"), tp=tp)


def leaves(arch: DenseArch) -> list[str]:
    return [f"{leaf.name} {leaf.kind} {leaf.describe}" for leaf in arch.manifest.leaves]


def test_leaves_of_the_vllm_stack_on_two_ranks() -> None:
    """Defects: a fusion split or invented, an op dropped, a shape not divided; INV-6.1: all-reduces apart."""
    sizes = "elementwise op={} input_bytes_per_token={} output_bytes_per_token={} dtype=bf16 at total_tokens"
    heads = "num_heads=4 num_kv_heads=1 head_dim=8 dtype=bf16 kv_dtype=bf16 window_size=0"
    norm = "rms_norm hidden_size=64 dtype=bf16 at total_tokens fold(residual_add)"
    meeting = "all_reduce num_ranks=2 dtype=bf16 at total_tokens"
    assert leaves(arch_of(FIXTURES / "llama_small.json", VLLM, tp=2)) == [
        f"embed.lookup {sizes.format('embedding', 128, 128)}",
        f"embed.all_reduce {meeting}",
        f"layers.attention.norm {norm}",
        "layers.attention.qkv_proj single_gemm n=48 k=64 dtype=bf16 at total_tokens",
        f"layers.attention.rope {sizes.format('rope', 80, 80)}",
        f"layers.attention.kv_append {sizes.format('copy', 32, 32)}",
        f"layers.attention.prefill attention_prefill {heads}",
        f"layers.attention.decode attention_decode {heads}",
        "layers.attention.o_proj single_gemm n=64 k=32 dtype=bf16 at total_tokens",
        f"layers.attention.all_reduce {meeting}",
        f"layers.mlp.norm {norm}",
        "layers.mlp.gate_up_proj single_gemm n=192 k=64 dtype=bf16 at total_tokens",
        f"layers.mlp.silu_mul {sizes.format('silu_mul', 384, 192)}",
        "layers.mlp.down_proj single_gemm n=64 k=96 dtype=bf16 at total_tokens",
        f"layers.mlp.all_reduce {meeting}",
        f"head.final_norm {norm}",
        "head.lm_head single_gemm n=512 k=64 dtype=bf16 at sampled_positions",
        "head.logits_gather all_gather num_ranks=2 dtype=bf16 at sampled_positions",
    ]


def test_leaves_of_the_eager_transformers_stack() -> None:
    """Defect: eager code priced with fusions that it does not have."""
    arch = arch_of(FIXTURES / "qwen3_wide_heads.json", TRANSFORMERS)
    kinds = [f"{leaf.name.removeprefix('layers.')} {leaf.kind}" for leaf in arch.manifest.leaves]
    assert kinds == [
        "embed.lookup elementwise",
        "attention.norm rms_norm",
        "attention.q_proj single_gemm",
        "attention.k_proj single_gemm",
        "attention.v_proj single_gemm",
        "attention.q_norm rms_norm",
        "attention.k_norm rms_norm",
        "attention.rope elementwise",
        "attention.kv_append elementwise",
        "attention.prefill attention_prefill",
        "attention.decode attention_decode",
        "attention.o_proj single_gemm",
        "attention.residual_add elementwise",
        "mlp.norm rms_norm",
        "mlp.gate_proj single_gemm",
        "mlp.up_proj single_gemm",
        "mlp.silu elementwise",
        "mlp.mul elementwise",
        "mlp.down_proj single_gemm",
        "mlp.residual_add elementwise",
        "head.final_norm rms_norm",
        "head.lm_head single_gemm",
    ]


def test_layers_are_folded_by_scale_and_cache_growth_is_two_launches() -> None:
    arch = arch_of(FIXTURES / "llama_small.json", TRANSFORMERS)
    runs = dict(zip([leaf.name for leaf in arch.manifest.leaves], arch.flat.repetitions(), strict=True))
    assert (runs["embed.lookup"], runs["layers.mlp.norm"], runs["layers.attention.kv_append"]) == (1, 3, 6)


def test_growing_the_cache_copies_the_whole_context() -> None:
    """Defect: `torch.cat` priced as an append of the new token."""
    arch = arch_of(FIXTURES / "llama_small.json", TRANSFORMERS)
    slot = [leaf.name for leaf in arch.manifest.leaves].index("layers.attention.kv_append")
    _, logs = arch.evaluate(Batches.of([Batch.of([], [100, 50])]), logging=True)
    points = logs[slot].points
    assert points.coords.tolist() == [[150]]


def test_sliding_layers_are_their_own_group() -> None:
    arch = arch_of(FIXTURES / "qwen2_sliding.json", VLLM)
    windows = {
        leaf.name: leaf.describe.rpartition("window_size=")[2]
        for leaf in arch.manifest.leaves
        if leaf.kind == "attention_decode"
    }
    assert windows == {
        "layers.attention.decode": "0",
        "sliding_layers.attention.decode": "128",
    }


@pytest.mark.parametrize("requests", [1, 3, 200])
def test_inv_1_one_compiled_tree_prices_any_batch(requests: int) -> None:
    """INV-1. Defect: structure rebuilt, or a slot added, for each request."""
    arch = arch_of(FIXTURES / "llama_small.json", VLLM)
    totals, _ = arch.evaluate(Batches.of([Batch.of([(8,)] * requests, [64] * requests)]))
    assert totals.values.shape[1] == len(arch.flat)


def test_lm_head_prices_sampled_positions_only() -> None:
    """Defect: logits of a whole prompt, 128 times the work of the last position."""
    arch = arch_of(FIXTURES / "llama_small.json", VLLM)
    whole, chunk, short = (
        arch.evaluate(Batches.of([batch]))[0].flops[0]
        for batch in (Batch.of([(128,)]), Batch.of([(128, 0, False)]), Batch.of([(128,), (128,)]))
    )
    assert whole - chunk == 2 * 1024 * 64
    assert short == 2 * whole


def test_many_iterations_at_once_are_the_iterations_one_by_one() -> None:
    arch = arch_of(FIXTURES / "llama_small.json", VLLM, tp=2)
    parts = [Batch.of([(100,), (7, 30)], [64]), Batch.of([], [10, 20]), Batch.of([(3, 1, False)])]
    together, _ = arch.evaluate(Batches.of(parts), compiled=True)
    alone = [arch.evaluate(Batches.of([part]))[0].time_ms[0] for part in parts]
    assert together.time_ms.tolist() == alone


BATCHES = {
    "prefill": Batch.of([(2048,)]),
    "chunks": Batch.of([(512, 1024, False), (128, 3000)]),
    "decode": Batch.of([], [513] * 8),
    "long decode": Batch.of([], [4000, 3000, 2000]),
    "mixed": Batch.of([(1000, 24)], [2000] * 32),
}


def assert_work_agrees(arch: DenseArch, batch: Batch) -> None:
    """The tree's GEMMs and attention against the accountant, within 1 % (padding of the vocabulary)."""
    _, logs = arch.evaluate(Batches.of([batch]), logging=True)
    counted = sum(
        repetitions * float((log.points.weights * log.kernel.work(log.points.coords).flops).sum())
        for log, leaf, repetitions in zip(logs, arch.manifest.leaves, arch.flat.repetitions(), strict=True)
        if leaf.kind.startswith(("single_gemm", "attention"))
    )
    assert counted == pytest.approx(necessary(arch, batch).flops, rel=0.01)


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize(
    ("config", "stack", "tp"),
    [
        ("llama_small", VLLM, 1),
        ("llama_small", VLLM, 4),
        ("llama_mha", TRANSFORMERS, 1),
        ("qwen3_wide_heads", VLLM, 2),
        ("qwen2_sliding", VLLM, 1),
        ("mistral_window", TRANSFORMERS, 1),
    ],
)
def test_work_agrees_with_the_accountant(config: str, stack: Stack, tp: int, batch: Batch) -> None:
    """Defect: a projection forgotten, counted twice, or shaped wrongly."""
    assert_work_agrees(arch_of(FIXTURES / f"{config}.json", stack, tp), batch)


@pytest.mark.shared
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize(
    "config",
    ["llama-3.1-8b-instruct", "Qwen--Qwen3-0.6B", "mistral-nemo-instruct-2407", "Qwen--Qwen3-32B-FP8"],
)
def test_work_of_genuine_models_agrees_with_the_accountant(
    shared_data: Path, config: str, batch: Batch
) -> None:
    assert_work_agrees(arch_of(shared_data / "configs" / f"{config}.json", VLLM), batch)


def test_inv_3_5_3_worklets_see_no_sub_kernel() -> None:
    """INV-3.5-3. Defect: prefill and decode of attention strung together, or split, above the op."""
    text = Path(decoder.__file__).read_text()
    assert "timing.kernels" not in text
    assert "attention_prefill" not in text
    assert "attention_decode" not in text


def test_describe_reads_from_model_to_kernel() -> None:
    text = arch_of(FIXTURES / "llama_small.json", VLLM).describe().splitlines()
    assert text[:3] == ["model:", "  sum", "    embed:"]
    assert "      scale x3" in text
