"""Rows of published engine runs: what served, on which ranks, and which of them cannot be told."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from benchmarks.accuracy import silicon_kernels, silicon_models
from benchmarks.accuracy.silicon_claims import Group
from benchmarks.accuracy.silicon_engines import engine_of
from benchmarks.accuracy.silicon_kernels import Rows, rows_of, tables_of
from benchmarks.accuracy.silicon_models import config_of, skew_of
from benchmarks.accuracy.silicon_rows import Case, Split, case_of, cases
from benchmarks.accuracy.silicon_runs import Simulator
from benchmarks.h100_rows import Absent
from servingsim.timing.source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROW = {
    "system": "h200_sxm", "backend": "sglang", "backend_version": "9.9.9", "model_path": "acme/Tiny-2B",
    "mode": "agg", "isl": "1000", "osl": "100", "batch_size": "64", "gemm_quant_mode": "", "moe_quant_mode": "",
    "tp_size": "4", "pp_size": "1", "attention_dp_size": "", "moe_tp_size": "1", "moe_ep_size": "1",
    "silicon_tpot_ms": "12.5", "silicon_data_source": "source_file=x.csv; silicon_concurrency=16",
}  # fmt: skip
GEMM = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n" + "\n".join(
    f"SGLang,9.9.9,NVIDIA H200,gemm,sglang,bfloat16,{m},1024,1024,{0.01 + m / 1e5}" for m in (1, 2, 4, 8)
)

REDUCE = (
    "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency\n"
    "TRTLLM,1.2,NVIDIA H200,all_reduce,TRTLLM,bfloat16,2,128,0.003\n"
)
"""Of the engine's folder, though measured with a kernel of another one."""

ROWS = Rows(MemorySource(), "NVIDIA H200", "")


def case(**changes: str) -> Case:
    return case_of(ROW | changes)


@pytest.mark.parametrize(
    ("columns", "split"),
    [
        ({"tp_size": "8", "moe_tp_size": "8"}, Split(tp=8)),
        ({"tp_size": "4", "moe_ep_size": "4"}, Split(tp=4, ep=4)),
        ({"tp_size": "4", "moe_tp_size": "2", "moe_ep_size": "2", "backend": "trtllm"}, Split(tp=4, ep=2)),
        ({"tp_size": "64", "moe_tp_size": "8", "moe_ep_size": "8"}, Split(tp=8, ep=8)),
        ({"tp_size": "1", "attention_dp_size": "8", "moe_ep_size": "8"}, Split(tp=1, dp=8, ep=8)),
    ],
)
def test_the_columns_of_ranks_say_how_the_model_is_split(columns: Mapping[str, str], split: Split) -> None:
    """Defect: 64 ranks for a run on eight, or experts that each rank holds whole."""
    found = case(**columns)
    assert (found.split, found.untold) == (split, "")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"tp_size": "8", "moe_tp_size": "2", "moe_ep_size": "2"}, "2 x 2 ranks hold the experts, 8 x 1"),
        ({"mode": "disagg"}, "pools of their own"),
        (
            {"tp_size": "2", "attention_dp_size": "4", "moe_tp_size": "8", "moe_ep_size": "1"},
            "no whole number",
        ),
    ],
)
def test_a_row_whose_columns_do_not_say_what_ran_tells_why(columns: Mapping[str, str], why: str) -> None:
    """Defect: such a row is dropped in silence, or predicted as something else."""
    assert why in case(**columns).untold


def test_clients_come_from_the_source_and_lengths_from_who_measured() -> None:
    """Defect: the batch size taken for the clients; public runs, which draw lengths, simulated with longest ones."""
    public = case()
    own = case(silicon_data_source="source_file=/x/aic-auto-gap-analysis/y.csv")
    assert (public.clients, public.shortest) == (16, 0.8)
    assert (own.clients, own.shortest) == (64, 1.0)
    plain = case(silicon_data_source="aic-auto-gap-analysis", gemm_quant_mode="fp8")
    assert (plain.served.gemm, case(gemm_quant_mode="fp8").served.gemm) == ("", "fp8")
    assert case(system="b200_sxm").served.name == "b200_sglang_9_9_9_tiny_2b"


def test_recipes_and_defaults_of_engines_differ() -> None:
    """Defect: one engine's arguments for all: prompts in other chunks, another cache, no planning ahead."""
    sglang, vllm, trtllm = (engine_of(case(backend=name)) for name in ("sglang", "vllm", "trtllm"))
    assert (sglang.scheduler.policy, sglang.kv_dtype) == ("sglang", None)
    assert vllm.scheduler.async_scheduling
    assert not trtllm.scheduler.chunked_prefill
    assert engine_of(case(system="b200_sxm")).kv_dtype == "fp8"


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of configs in place of the one beside the checkout."""
    folder = tmp_path / "configs"
    folder.mkdir()
    monkeypatch.setattr(silicon_models, "DATA", tmp_path)
    return folder


def test_a_model_is_found_by_its_name_and_quantised_as_its_rows_say(configs: Path) -> None:
    """Defect: the 16-bit config for an fp8 run, or the row's format over the one that the checkpoint states."""
    (configs / "acme--Tiny-2B.json").write_text(json.dumps({"model_type": "llama"}))
    (configs / "tiny-9b.json").write_text(json.dumps({"quantization_config": {"quant_method": "mxfp4"}}))
    block = config_of(case(model_path="acme/Tiny-2B-FP8", moe_quant_mode="fp8_block").served)
    assert block["quantization_config"]["weight_block_size"] == [128, 128]
    assert "quantization_config" not in config_of(case(model_path="acme/Tiny-2B-Instruct").served)
    stated = config_of(case(model_path="acme/Tiny-9B", gemm_quant_mode="nvfp4").served)
    assert stated["quantization_config"] == {"quant_method": "mxfp4"}
    assert config_of(case().served, "float16")["torch_dtype"] == "float16"


def test_a_format_or_a_model_that_is_not_known_is_told(configs: Path) -> None:
    """Defect: weights predicted from rows of another format; a checkpoint in eight bits for one in four."""
    (configs / "tiny-3b.json").write_text("{}")
    (configs / "tiny-2b.json").write_text(json.dumps({"quantization_config": {"quant_method": "fp8"}}))
    with pytest.raises(Absent, match="w4afp8"):
        config_of(case(gemm_quant_mode="w4afp8", model_path="acme/Tiny-3B").served)
    four_bits = config_of(case(gemm_quant_mode="nvfp4").served)
    assert four_bits["quantization_config"]["quant_algo"] == "NVFP4"
    with pytest.raises(Absent, match="no config of acme/Other"):
        config_of(case(model_path="acme/Other").served)
    assert skew_of(case(model_path="acme/DeepSeek-X").served) == "power_law_1.01"


def test_kernels_of_a_version_come_from_an_older_wheel_and_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: rows of another version or system for those of the engine; an import at every run."""
    monkeypatch.setattr(silicon_kernels, "DATA", tmp_path)
    monkeypatch.setattr(silicon_kernels, "WHEELS", tmp_path)
    monkeypatch.setattr(silicon_kernels, "KEPT", tmp_path / "kept")
    with zipfile.ZipFile(tmp_path / "aiconfigurator-0.0.1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("aiconfigurator/systems/data/h200_sxm/sglang/9.9.9/gemm_perf.txt", GEMM)
        wheel.writestr("aiconfigurator/systems/data/h200_sxm/sglang/9.9.9/custom_allreduce_perf.txt", REDUCE)
        wheel.writestr("aiconfigurator/systems/h200_sxm.yaml", "gpu: {mem_bw: 4800000000000}")
    found = tables_of("h200_sxm", "sglang", "9.9.9")[0]
    assert found.origin == "aiconfigurator-0.0.1"
    for _ in range(2):
        with rows_of(found) as rows:
            assert (rows.device, rows.half) == ("NVIDIA H200", "float16")
            assert rows.source.backends("single_gemm", rows.device) == ("sglang-9.9.9:sglang",)
            assert rows.source.backends("all_reduce", rows.device) == ("sglang-9.9.9:TRTLLM",)
    assert len(list((tmp_path / "kept").iterdir())) == 1
    with pytest.raises(Absent, match="no kernels of sglang on moon"):
        tables_of("moon", "sglang", "9.9.9")


def test_the_nearest_version_of_the_installed_wheel_goes_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: kernels of another version in the name of the engine's own."""
    pytest.importorskip("aiconfigurator_core")
    monkeypatch.setattr(silicon_kernels, "DATA", tmp_path)
    monkeypatch.setattr(silicon_kernels, "WHEELS", tmp_path)
    (found,) = tables_of("h200_sxm", "sglang", "0.0.1")
    assert found.version != "0.0.1"
    group = Group(case(backend_version="0.0.1").served, found, Simulator(ROWS, tmp_path, ()), ())
    assert group.name.startswith("silicon_h200_sglang_0_0_1_tiny_2b_near_")
    same = Group(case(backend_version=found.version).served, found, Simulator(ROWS, tmp_path, ()), ())
    assert "near" not in same.name


def test_without_the_file_the_area_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        cases(tmp_path / "no.csv")
