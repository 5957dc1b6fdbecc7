"""Latent attention, gated recurrences and exchanges: what tables leave unsaid, and files of several kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.aiconfigurator import IMPORTER
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.importers.report import ImportReport
    from profiling.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

WriteTable = Callable[[str, Sequence[Mapping[str, Any]]], Path]
GPU = "NVIDIA H100 80GB HBM3"
COMMON = {"device": GPU, "framework": "VLLM", "version": "0.10.0", "latency": 0.5}
LATENT = COMMON | {
    "mla_dtype": "bfloat16", "kv_cache_dtype": "fp8", "num_heads": 16, "batch_size": 4, "isl": 64, "tp_size": 8,
    "step": 0, "kernel_source": "default",
}  # fmt: skip
WIDTHS = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
DELTA = COMMON | {
    "op_name": "gdn", "phase": "context", "batch_size": 2, "seq_len": 128, "num_tokens": 256, "d_model": 2048,
    "d_conv": 4, "num_k_heads": 16, "head_k_dim": 128, "num_v_heads": 32, "head_v_dim": 128, "model_name": "q",
}  # fmt: skip
HEADS = {"num_k_heads": 16, "num_v_heads": 32, "k_head_dim": 128, "v_head_dim": 128, "dtype": "bf16"}
STEP = {"phase": "generation", "seq_len": 1, "num_tokens": 2}
KERNELS: list[dict[str, Any]] = [
    {"kernel_source": "chunk_gated_delta_rule", "latency": 0.4},
    {"kernel_source": "chunk_gated_delta_rule", "latency": 0.6, "d_model": 4096},
    {"kernel_source": "causal_conv1d_fn", "latency": 0.2, "batch_size": 1},
    {"kernel_source": "causal_conv1d_fn", "latency": 0.9},
    {"kernel_source": "fused_recurrent_gated_delta_rule", "latency": 0.1} | STEP,
    {"kernel_source": "causal_conv1d_update", "latency": 0.05} | STEP,
]
EXCHANGE = {
    "device": GPU, "framework": "TRTLLM", "version": "0.10.0", "op_name": "moe_a2a", "kernel_source": "deepep",
    "comm_backend": "ht", "ep_size": 8, "node_num": 1, "hidden_size": 4096, "topk": 8, "num_experts": 128,
    "num_tokens": 64, "sms": 0, "latency": 250.0,
}  # fmt: skip
LOW_LATENCY = {
    "device": GPU, "framework": "sglang", "version": "0.10.0", "op_name": "ll", "kernel_source": "deepep",
    "node_num": 2, "hidden_size": 7168, "num_token": 128, "num_topk": 8, "num_experts": 256,
    "combine_avg_t_us": 67.0, "dispatch_avg_t_us": 37.0,
}  # fmt: skip


def _imported(store: Store, systems: Path, *tables: str) -> ImportReport:
    return IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems), table=tables)


def _row(store: Store, kind: str, *more: str) -> list[dict[str, Any]]:
    """Args of a kind's rows with their backends and times."""
    hidden = {"p10_ms", "p90_ms", "cv", "samples", "outlier", "outlier_reason", "origin", "framework", "driver",
              "framework_version", "source", "measured_at", "libraries", "device"} - set(more)  # fmt: skip
    return [{name: value for name, value in row.items() if name not in hidden} for row in store.rows(kind)]


def test_latent_attention_gets_the_widths_that_its_tables_leave_out(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: widths of another model, or the new token not among the keys of a decode step."""
    write_table("mla/vllm/0.10.0/context_mla_perf", [LATENT | {"op_name": "mla_context", "step": 32}])
    write_table(
        "mla/vllm/0.10.0/generation_mla_perf", [LATENT | {"op_name": "mla_generation", "isl": 1, "step": 127}]
    )
    _imported(store, systems, "context_mla", "generation_mla")
    shared = {"num_heads": 16, **WIDTHS, "dtype": "bf16", "kv_dtype": "fp8", "median_ms": 0.5}
    backend = {"backend": "vllm-0.10.0:default"}
    assert _row(store, "mla_prefill") == [backend | {"batch_size": 4, "q_len": 64, "prefix_len": 32} | shared]
    assert _row(store, "mla_decode") == [backend | {"batch_size": 4, "kv_len": 128} | shared]


def test_a_prefill_measured_over_absorbed_heads_is_refused(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: times three times too long, of a function that no prefill runs, priced as the model's attention."""
    rows = [
        LATENT | {"op_name": "mla_context", "framework": framework, "kernel_source": kernel}
        for framework, kernel in (
            ("SGLang", "flash_attention"),
            ("SGLang", "trtllm_mla"),
            ("vLLM", "flash_attention"),
        )
    ]
    write_table("mla/vllm/0.10.0/context_mla_perf", rows)
    report = _imported(store, systems, "context_mla")
    refused = {reason: group.rows for reason, group in report.tables["context_mla"].refused.items()}
    assert refused == {
        "flash_attention of SGLang: measured over absorbed heads, which a prefill does not have": 1
    }
    assert len(store.rows("mla_prefill")) == 2


def test_one_file_of_four_kernels_becomes_three_kinds(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: a convolution sold as the recurrence after it, or models of one shape kept as different rows."""
    write_table("linear_attention/vllm/0.10.0/gdn_perf", [DELTA | kernel for kernel in KERNELS])
    report = _imported(store, systems, "gdn_scan", "gdn_step", "gdn_conv")
    assert _row(store, "gated_delta_prefill", "samples") == [
        {"backend": "vllm-0.10.0:chunk_gated_delta_rule", "batch_size": 2, "q_len": 128, **HEADS, "median_ms": 0.5,
         "samples": 2}
    ]  # fmt: skip
    assert _row(store, "gated_delta_decode") == [
        {
            "backend": "vllm-0.10.0:fused_recurrent_gated_delta_rule",
            "batch_size": 2,
            **HEADS,
            "median_ms": 0.1,
        }
    ]
    channel_bytes = (2 * 16 * 128 + 32 * 128) * 2
    convolution = {"op": "causal_conv1d", "input_bytes_per_token": channel_bytes,
                   "output_bytes_per_token": channel_bytes, "dtype": "bf16"}  # fmt: skip
    assert _row(store, "elementwise") == [
        {"backend": "vllm-0.10.0:causal_conv1d_fn", "num_tokens": 128, **convolution, "median_ms": 0.2},
        {"backend": "vllm-0.10.0:causal_conv1d_update", "num_tokens": 2, **convolution, "median_ms": 0.05},
    ]
    assert report.tables["gdn_scan"].other_operations == {
        "causal_conv1d_fn": 2, "causal_conv1d_update": 1, "fused_recurrent_gated_delta_rule": 1,
    }  # fmt: skip
    (reason,) = report.tables["gdn_conv"].refused
    assert reason.startswith("several requests of several tokens")


def test_two_tables_of_one_kernel_do_not_overwrite_each_other(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: every import rewrites the rows that the other table wrote, and the second import is never quiet."""
    conv = {"kernel_source": "causal_conv1d_fn", "batch_size": 1}
    write_table("linear_attention/vllm/0.10.0/gdn_perf", [DELTA | conv])
    state = {"op_name": "mamba2", "nheads": 64, "head_dim": 64, "n_groups": 16, "d_state": 128, "seq_len": 128,
             "d_conv": 4, "latency": 0.7}  # fmt: skip
    write_table("linear_attention/vllm/0.10.0/mamba2_perf", [COMMON | state | conv])
    _imported(store, systems, "gdn_conv", "mamba2_conv")
    again = _imported(store, systems, "gdn_conv", "mamba2_conv")
    assert (again.inserted, again.updated, again.unchanged) == (0, 0, 2)
    assert {row["input_bytes_per_token"] for row in store.rows("elementwise")} == {16384}


def test_exchanges_are_in_microseconds_and_a_dtype_that_is_not_named_is_refused(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: a quarter of a second for an all-to-all, both ways in one kind, or a guess at what `default` is."""
    rows: list[dict[str, Any]] = [
        {"phase": "dispatch", "comm_dtype": "fp8"},
        {"phase": "combine", "comm_dtype": "bfloat16", "latency": 300.0},
        {"phase": "dispatch", "comm_dtype": "default"},
    ]
    write_table("comm/vllm/0.10.0/moe_a2a_perf", [EXCHANGE | row for row in rows])
    report = _imported(store, systems, "moe_a2a_dispatch", "moe_a2a_combine")
    shared = {"backend": "vllm-0.10.0:ht", "num_tokens": 64, "hidden_size": 4096, "topk": 8, "num_experts": 128,
              "num_ranks": 8}  # fmt: skip
    assert _row(store, "moe_dispatch") == [shared | {"dtype": "fp8", "median_ms": 0.25}]
    assert _row(store, "moe_combine") == [shared | {"dtype": "bf16", "median_ms": pytest.approx(0.3)}]
    assert list(report.tables["moe_a2a_dispatch"].refused) == ["comm_dtype default: unknown dtype"]


def test_low_latency_exchanges_send_fp8_and_get_bf16_back(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: one dtype for both ways, a node taken for a rank, or a node of unknown size taken for one of eight."""
    rows = [LOW_LATENCY, LOW_LATENCY | {"device": "NVIDIA GB200"}]
    write_table("comm/vllm/0.10.0/wideep_deepep_ll_perf", rows)
    report = _imported(store, systems, "deepep_ll_dispatch", "deepep_ll_combine")
    shared = {"backend": "vllm-0.10.0:ll.deepep", "num_tokens": 128, "hidden_size": 7168, "topk": 8,
              "num_experts": 256, "num_ranks": 16}  # fmt: skip
    assert _row(store, "moe_dispatch") == [shared | {"dtype": "fp8", "median_ms": pytest.approx(0.037)}]
    assert _row(store, "moe_combine") == [shared | {"dtype": "bf16", "median_ms": pytest.approx(0.067)}]
    (reason,) = report.tables["deepep_ll_combine"].refused
    assert reason == "GB200: the table does not say how many ranks a node has"


def test_products_around_absorbed_attention_are_one_group_a_head(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: the two directions swapped, or rows of one head counted for all."""
    row = COMMON | {"bmm_dtype": "bfloat16", "num_tokens": 8, "num_heads": 16, "kernel_source": "bmm"}
    rows = [row | {"op_name": "mla_gen_pre"}, row | {"op_name": "mla_gen_post", "latency": 0.4}]
    write_table("mla_bmm/vllm/0.10.0/mla_bmm_perf", rows)
    _imported(store, systems, "mla_bmm")
    sizes = ("m", "num_groups", "n", "k", "median_ms")
    found = {tuple(row[name] for name in sizes) for row in store.rows("grouped_gemm")}
    assert found == {(128, 16, 512, 128, 0.5), (128, 16, 128, 512, 0.4)}


def test_loose_files_of_several_kernels_are_known_by_their_columns(store: Store, tmp_path: Path) -> None:
    """Defect: a user's own recurrence table taken by one kind only, or one of another gate taken for it."""
    for name, operation in (("mine", "gdn"), ("other", "kda")):
        rows = [DELTA | kernel | {"op_name": operation} for kernel in KERNELS]
        names = list(rows[0])
        lines = [",".join(names), *(",".join(str(row[column]) for column in names) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    report = IMPORTER.run(store, data_dir=str(tmp_path))
    assert set(report.tables) == {"gdn_conv", "gdn_scan", "gdn_step"}
    assert list(report.not_imported) == ["other.csv"]


def test_a_time_of_hours_names_the_unit_of_its_column(
    store: Store, systems: Path, write_table: WriteTable
) -> None:
    """Defect: nanoseconds taken for microseconds pass as a slow exchange."""
    rows = [EXCHANGE | {"phase": "dispatch", "comm_dtype": "fp8", "latency": 1e10}]
    write_table("comm/vllm/0.10.0/moe_a2a_perf", rows)
    with pytest.raises(ServingSimError, match="no row of moe_a2a_dispatch can be taken") as refused:
        _imported(store, systems, "moe_a2a_dispatch")
    assert "the column is not in microseconds" in refused.value.known
