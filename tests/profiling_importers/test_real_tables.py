"""The installed wheel and the older tables: counts, and values that were read by hand in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.aiconfigurator import IMPORTER
from profiling.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from profiling.importers.report import ImportReport

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, ImportReport]]:
    """Everything of vLLM on H100."""
    pytest.importorskip("aiconfigurator_core")
    path = tmp_path_factory.mktemp("h100") / "times.db"
    with Store.open(path, create=True) as store:
        report = IMPORTER.run(store, system="h100_sxm", stack="vllm", version="0.24.0", nccl_version="2.29.2")
        yield store, report


@pytest.mark.slow
@pytest.mark.long
def test_every_row_of_the_wheel_is_accounted_for(h100: tuple[Store, ImportReport]) -> None:
    """Defect: rows lost between the file and the store without a reason."""
    store, report = h100
    for table in report.tables.values():
        refused = table.rows_refused + table.rows_superseded + sum(table.other_operations.values())
        assert table.rows_read == refused + table.rows_merged + table.rows_kept
        assert table.rows_read == sum(file.rows for file in table.files)
    assert report.rows_kept == report.inserted == sum(count.rows for count in store.counts())
    assert report.rows_kept > 250_000
    assert report.devices == [H100]


VALUES: list[tuple[str, str, dict[str, Any], float]] = [
    (
        "single_gemm",
        "vllm-0.24.0:torch.nn.functional.linear",
        {"m": 32768, "n": 10240, "k": 8192, "dtype": "bf16"},
        7.814775254991319,
    ),
    (
        "attention_prefill",
        "vllm-0.24.0:vllm_flash_attn_fa3",
        {
            "batch_size": 1, "q_len": 16384, "prefix_len": 0, "num_heads": 64, "num_kv_heads": 8, "head_dim": 128,
            "dtype": "bf16", "kv_dtype": "bf16", "window_size": 0,
        },
        7.1877867380778,
    ),
    (
        "attention_decode",
        "vllm-0.24.0:vllm_flash_attn_fa3",
        {
            "batch_size": 32, "kv_len": 4, "num_heads": 64, "num_kv_heads": 8, "head_dim": 128, "dtype": "bf16",
            "kv_dtype": "fp8", "window_size": 0,
        },
        0.018901333212852478,
    ),
    (
        "all_reduce",
        "vllm-0.24.0:vLLM_custom_graph",
        {"num_ranks": 2, "message_bytes": 256, "dtype": "bf16"},
        0.004291520118713379,
    ),
    ("all_reduce", "nccl-2.29.2:NCCL", {"num_ranks": 8, "message_bytes": 2**29, "dtype": "int8"}, 2.67747),
    (
        "gated_delta_prefill",
        "vllm-0.24.0:chunk_gated_delta_rule_flashinfer",
        {
            "batch_size": 2, "q_len": 8192, "num_k_heads": 16, "num_v_heads": 32, "k_head_dim": 128,
            "v_head_dim": 128, "dtype": "bf16",
        },
        0.3933612823486328,
    ),
    (
        "grouped_gemm",
        "vllm-0.24.0:vllm_torch_bmm",
        {"m": 2048, "num_groups": 16, "n": 512, "k": 128, "dtype": "bf16"},
        0.004748800024390221,
    ),
    (
        "fused_moe",
        "vllm-0.24.0:vllm_gptossmxfp4moe_triton_oaitritonmxfp4expertsmonolithic",
        {
            "num_tokens": 1, "hidden_size": 2880, "inter_size": 2880, "topk": 4, "num_experts": 32,
            "moe_tp_size": 1, "moe_ep_size": 1, "distribution": "power_law_1.01", "dtype": "mxfp4",
        },
        0.060249602794647215,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "backend", "args", "time_ms"), VALUES)
def test_values_read_by_hand_are_in_the_store(
    h100: tuple[Store, ImportReport], kind: str, backend: str, args: dict[str, Any], time_ms: float
) -> None:
    """Defect: a unit, an axis or a kernel name confused in the real files."""
    (row,) = h100[0].rows(kind, device=H100, backend=backend, args=args)
    assert row["median_ms"] == time_ms


@pytest.mark.slow
@pytest.mark.long
def test_a_second_import_of_the_wheel_changes_nothing(h100: tuple[Store, ImportReport]) -> None:
    """Defect: floating-point or NULL columns that differ on the way back, so that each import rewrites rows."""
    tables = ("custom_allreduce", "nccl")
    again = IMPORTER.run(h100[0], system="h100_sxm", stack="vllm", version="0.24.0", table=tables)
    assert (again.inserted, again.updated) == (0, 0)
    assert again.unchanged == again.rows_kept


@pytest.mark.shared
def test_older_text_tables_and_gathered_parquet_files(store: Store, shared_data: Path) -> None:
    """Defect: the layout of an older wheel, or a folder of files gathered from several, cannot be read."""
    older = IMPORTER.run(store, data_dir=str(shared_data / "kernels" / "h100_trtllm_1.0.0rc3_wheel0.4.0"))
    assert {name: table.rows_read for name, table in older.tables.items()} == {
        "context_attention": 14626,
        "context_mla": 2436,
        "custom_allreduce": 69,
        "gemm": 44184,
        "generation_attention": 9924,
        "generation_mla": 5068,
        "mla_bmm": 848,
        "moe": 37200,
        "nccl": 504,
        "nccl_all_gather": 504,
        "nccl_reduce_scatter": 504,
    }
    assert older.not_imported == {}
    gathered = IMPORTER.run(store, data_dir=str(shared_data / "kernels" / "a100_vllm_0.14.0"))
    noise = gathered.tables["context_attention"].noise
    assert noise is not None
    assert noise.repeated_shapes == 408
    assert 0.005 < noise.median_spread < 0.007


@pytest.mark.shared
def test_decode_faster_than_the_memory_is_marked(store: Store, shared_data: Path) -> None:
    """Defect: decode attention at 6 TB/s on a GPU of 3.35 TB/s goes unnoticed."""
    folder = shared_data / "kernels" / "h100_trtllm_1.0.0rc3_wheel0.4.0"
    report = IMPORTER.run(store, data_dir=str(folder), table=("generation_attention",))
    assert report.outliers > 300
