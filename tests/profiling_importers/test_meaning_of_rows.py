"""What a row of a table becomes: units, names, keys and provenance, compared whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.aiconfigurator import IMPORTER

if TYPE_CHECKING:
    from profiling.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

WriteTable = Callable[[str, Sequence[Mapping[str, Any]]], Path]
Row = Callable[..., dict[str, Any]]
GPU = "NVIDIA H100 80GB HBM3"
TIMING = ("median_ms", "p10_ms", "p90_ms", "cv", "samples", "outlier", "outlier_reason")
PROVENANCE = ("origin", "framework", "framework_version", "source", "measured_at", "libraries")


def args_of(store: Store, kind: str) -> list[dict[str, Any]]:
    """Key columns and the time of every row."""
    hidden = {*TIMING, *PROVENANCE, "driver"} - {"median_ms"}
    return [{name: value for name, value in row.items() if name not in hidden} for row in store.rows(kind)]


def test_gemm_row_is_taken_by_column_name_with_its_provenance(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: columns read by position, a wrong dtype name, a lost source, or a time that passed a unit factor."""
    path = write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(latency=0.125)])
    (path.parent / "collection_meta.yaml").write_text(
        "runtime: {image: 'vllm:v0.10.0'}\n"
        "tables: {gemm_perf: {collected_at: '2026-01-02', status: complete}, other_perf: {collected_at: x}}\n"
    )
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert store.rows("single_gemm") == [
        {
            "device": GPU,
            "backend": "vllm-0.10.0:linear",
            "m": 16,
            "n": 256,
            "k": 512,
            "dtype": "bf16",
            "median_ms": 0.125,
            "p10_ms": None,
            "p90_ms": None,
            "cv": None,
            "samples": 1,
            "outlier": False,
            "outlier_reason": "",
            "origin": "imported",
            "framework": "vllm",
            "framework_version": "0.10.0",
            "driver": "",
            "libraries": {"image": "vllm:v0.10.0", "status": "complete"},
            "source": "systems folder systems: data/tiny/gemm/vllm/0.10.0/gemm_perf.parquet",
            "measured_at": "2026-01-02",
        }
    ]


def test_prefill_takes_step_as_prefix_and_an_absent_window_as_none(
    store: Store, systems: Path, write_table: WriteTable, attention_row: Row
) -> None:
    """Defect: prefix and new tokens confused, or a table without window_size refused."""
    rows = [attention_row("context_attention", isl=64, step=192)]
    write_table("attention/vllm/0.10.0/context_attention_perf", rows)
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert args_of(store, "attention_prefill") == [
        {
            "device": GPU,
            "backend": "vllm-0.10.0:flash",
            "batch_size": 4,
            "q_len": 64,
            "prefix_len": 192,
            "num_heads": 8,
            "num_kv_heads": 2,
            "head_dim": 128,
            "dtype": "bf16",
            "kv_dtype": "fp8",
            "window_size": 0,
            "median_ms": 0.05,
        }
    ]


def test_decode_counts_the_new_token_among_its_keys(
    store: Store, systems: Path, write_table: WriteTable, attention_row: Row
) -> None:
    """Defect: kv_len off by one, or KV heads of 0 (each head its own) taken as a size."""
    rows = [attention_row("generation_attention", step=127, window_size=64, num_key_value_heads=0)]
    write_table("attention/vllm/0.10.0/generation_attention_perf", rows)
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    (row,) = args_of(store, "attention_decode")
    assert (row["kv_len"], row["num_heads"], row["num_kv_heads"], row["window_size"]) == (128, 8, 8, 64)


def test_older_tables_without_a_column_of_kv_heads_mean_one_a_head(
    store: Store, systems: Path, write_table: WriteTable, attention_row: Row
) -> None:
    """Defect: an older table refused for a column that it never had."""
    row = attention_row("generation_attention")
    del row["num_key_value_heads"], row["beam_width"]
    write_table("attention/vllm/0.10.0/generation_attention_perf", [row])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert [row["num_kv_heads"] for row in args_of(store, "attention_decode")] == [8]


def test_message_sizes_are_elements_and_each_collective_is_its_own_kind(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: elements stored as bytes (a factor of two in bf16), or an all-gather priced as an all-reduce."""
    library = {"kernel_source": "NCCL", "device": GPU, "framework": "TRTLLM", "version": "2.1", "num_gpus": 4}
    write_table(
        "comm/nccl/2.1/nccl_perf",
        [
            library | {"op_name": "all_gather", "nccl_dtype": "half", "message_size": 512, "latency": 0.01},
            library | {"op_name": "all_reduce", "nccl_dtype": "half", "message_size": 512, "latency": 0.02},
            library | {"op_name": "all_reduce", "nccl_dtype": "int8", "message_size": 512, "latency": 0.03},
        ],
    )
    own = {"op_name": "all_reduce", "kernel_source": "graph", "allreduce_dtype": "bfloat16", "num_gpus": 2}
    rows = [
        own | {"message_size": 128, "latency": 0.004, "device": GPU, "framework": "vLLM", "version": "0.10.0"}
    ]
    write_table("comm/vllm/0.10.0/custom_allreduce_perf", rows)
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    found = {(row["backend"], row["num_ranks"], row["message_bytes"], row["dtype"], row["median_ms"])
             for row in store.rows("all_reduce")}  # fmt: skip
    assert found == {
        ("nccl-2.1:NCCL", 4, 1024, "fp16", 0.02),
        ("nccl-2.1:NCCL", 4, 512, "int8", 0.03),
        ("vllm-0.10.0:graph", 2, 256, "bf16", 0.004),
    }
    assert report.tables["nccl"].other_operations == {"all_gather": 1}
    # The whole of 512 elements is 256 bytes of each of four ranks.
    (gathered,) = store.rows("all_gather")
    assert (gathered["message_bytes"], gathered["dtype"], gathered["median_ms"]) == (256, "fp16", 0.01)
    assert {row["framework"] for row in store.rows("all_reduce")} == {"nccl", "vllm"}


def test_distributions_of_experts_are_rows_of_their_own(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: balanced and skewed routing merged as repeated measurements."""
    row = {
        "op_name": "moe", "kernel_source": "triton", "device": GPU, "framework": "VLLM", "version": "0.10.0",
        "moe_dtype": "w4a16_mxfp4", "num_tokens": 8, "hidden_size": 2880, "inter_size": 2880, "topk": 4,
        "num_experts": 32, "moe_tp_size": 2, "moe_ep_size": 4, "latency": 1.0,
    }  # fmt: skip
    write_table(
        "moe/vllm/0.10.0/moe_perf",
        [row | {"distribution": "balanced"}, row | {"distribution": "power_law_1.2", "latency": 0.9}],
    )
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert args_of(store, "fused_moe") == [
        {
            "device": GPU,
            "backend": "vllm-0.10.0:triton",
            "num_tokens": 8,
            "hidden_size": 2880,
            "inter_size": 2880,
            "topk": 4,
            "num_experts": 32,
            "moe_tp_size": 2,
            "moe_ep_size": 4,
            "distribution": distribution,
            "dtype": "mxfp4",
            "median_ms": time_ms,
        }
        for distribution, time_ms in (("balanced", 1.0), ("power_law_1.2", 0.9))
    ]


def test_experts_without_a_gate_and_impossible_counts_are_refused(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: two matrices sold as three, a third too fast, and then chosen as the best backend."""
    row = {
        "op_name": "moe", "device": GPU, "framework": "TRTLLM", "version": "0.10.0", "moe_dtype": "bfloat16",
        "num_tokens": 8, "topk": 2, "num_experts": 8, "moe_tp_size": 1, "moe_ep_size": 1, "latency": 1.0,
        "distribution": "balanced", "hidden_size": 1024, "inter_size": 4096, "kernel_source": "cutlass",
    }  # fmt: skip
    nemotron = {"hidden_size": 2688, "inter_size": 1856, "topk": 6, "num_experts": 128}
    changes: list[dict[str, Any]] = [
        {},
        {"kernel_source": "flow_nongated"},
        nemotron,
        {"topk": 9},
        {"moe_ep_size": 9},
    ]
    write_table("moe/vllm/0.10.0/moe_perf", [row | change for change in changes])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert {reason: group.rows for reason, group in report.tables["moe"].refused.items()} == {
        "experts without a gate (the kernel's name says so): no kind here": 1,
        "experts without a gate (the shape of a Nemotron 3 model): no kind here": 1,
        "topk is more than num_experts": 1,
        "moe_ep_size is more than num_experts": 1,
    }
    assert [found["backend"] for found in store.rows("fused_moe")] == ["vllm-0.10.0:cutlass"]
