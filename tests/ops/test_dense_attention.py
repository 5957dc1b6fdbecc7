"""The compound attention op: two slots whatever the batch, per-request fan-out into one of them."""

from __future__ import annotations

import dataclasses

import pytest

from servingsim.ops.attention.dense import (
    DenseAttention,
    DenseAttentionConfig,
    decode_config,
    prefill_config,
)
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, Totals, flatten
from servingsim.timing.source import ArgValue, DeviceSpec, MemorySource

DEVICE = DeviceSpec("dev", {"bf16": 1e15}, 1e14, 10**10)
CONFIG = DenseAttentionConfig(
    gpu_name="dev",
    num_heads=8,
    num_kv_heads=2,
    head_dim=16,
    dtype="bf16",
    kv_dtype="fp8",
    window_size=0,
    max_num_tokens=256,
    max_num_seqs=4,
    max_model_len=1024,
    max_kv_tokens=4096,
    prefill_backends=("flashinfer",),
    decode_backends=("torch",),
)
HEADS: dict[str, ArgValue] = {
    "num_heads": 8,
    "num_kv_heads": 2,
    "head_dim": 16,
    "dtype": "bf16",
    "kv_dtype": "fp8",
    "window_size": 0,
}


def measured() -> MemorySource:
    """Prefill: 0.001 ms for each token of a batch; decode: 0.01 ms a request and 0.001 ms a key."""
    source = MemorySource({"dev": DEVICE})
    for batch in (1, 2, 4):
        for q_len in (16, 32, 64):
            args = HEADS | {"batch_size": batch, "q_len": q_len, "prefix_len": 0}
            source.add("attention_prefill", "dev", "flashinfer", args, batch * q_len * 1e-3)
        for kv_len in (16, 64, 256):
            args = HEADS | {"batch_size": batch, "kv_len": kv_len}
            source.add("attention_decode", "dev", "torch", args, batch * 0.01 + batch * kv_len * 1e-3)
    return source


def price(*batches: Batch) -> Totals:
    op = DenseAttention.build("attn", CONFIG, measured(), on_missing="refuse")
    builder = CostTreeBuilder()
    ev = Evaluator(flatten(op.compile(builder)), builder.manifest(), len(batches))
    op.eval(Batches.of(batches), ev)
    return ev.totals()


def test_configs_of_both_kernels_field_by_field() -> None:
    """Defect: a field of the op that reaches one sub-kernel only."""
    shared = {
        "gpu_name": "dev",
        "num_heads": 8,
        "num_kv_heads": 2,
        "head_dim": 16,
        "dtype": "bf16",
        "kv_dtype": "fp8",
        "window_size": 0,
        "max_batch_size": 4,
        "max_kv_len": 1024,
    }
    assert prefill_config(CONFIG).model_dump() == shared | {
        "backends": ("flashinfer",),
        "max_num_tokens": 256,
    }
    assert decode_config(CONFIG).model_dump() == shared | {"backends": ("torch",), "max_kv_tokens": 4096}


def test_the_op_knows_no_parallel_layout() -> None:
    """INV-4.5: per-rank facts only."""
    names = {field.name for field in dataclasses.fields(DenseAttentionConfig)}
    assert not {"tp", "pp", "ep", "rank", "parallel", "num_ranks"} & names


@pytest.mark.parametrize("requests", [1, 4])
def test_inv_1_leaves_do_not_depend_on_the_number_of_requests(requests: int) -> None:
    """INV-1. Defect: a slot for each request."""
    op = DenseAttention.build("attn", CONFIG, measured(), on_missing="refuse")
    builder = CostTreeBuilder()
    flat = flatten(op.compile(builder))
    assert [(leaf.name, leaf.kind) for leaf in builder.manifest().leaves] == [
        ("attn.prefill", "attention_prefill"),
        ("attn.decode", "attention_decode"),
    ]
    ev = Evaluator(flat, builder.manifest(), 1)
    op.eval(Batches.of([Batch.of([(16,)] * requests)]), ev)
    assert ev.totals().time_ms.tolist() == pytest.approx([0.016 * requests])


def test_equal_requests_cost_exactly_one_launch_of_their_batch() -> None:
    """Defect: a fan-out that prices each request at the whole batch."""
    assert price(Batch.of([(32,), (32,)])).time_ms.tolist() == pytest.approx([0.064])


def test_a_mixed_fan_out_costs_each_request_its_share() -> None:
    """0.5 T(2, 16) + 0.5 T(2, 64)."""
    assert price(Batch.of([(16,), (64,)])).time_ms.tolist() == pytest.approx([0.016 + 0.064])


def test_decode_is_priced_at_the_mean_length() -> None:
    assert price(Batch.of([], [16, 112])).time_ms.tolist() == pytest.approx([0.02 + 0.128])


def test_the_sum_reproduces_the_streamed_total_of_a_mixed_batch() -> None:
    """Defect: prefill or decode of a mixed iteration dropped, or iterations mixed up."""
    parts = [Batch.of([(32,)], []), Batch.of([], [16, 64]), Batch.of([(32,)], [16, 64])]
    times = price(*parts).time_ms.tolist()
    assert times[2] == pytest.approx(times[0] + times[1])
    flops = price(*parts).flops.tolist()
    assert flops[2] == pytest.approx(flops[0] + flops[1])
    assert flops[1] == 4 * 80 * 8 * 16
