"""Weights and caches in the formats that checkpoints state, and the modules that stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts, read_model, weight_bytes, weight_dtype
from servingsim.errors import ServingSimError

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())


def compressed(bits: int, kind: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    weights = {"num_bits": bits, "type": kind, "strategy": "channel", "group_size": None} | more
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        (compressed(8, "float"), "fp8"),
        (compressed(8, "float", strategy="block"), "fp8_block"),
        (compressed(4, "int"), "int4"),
        (compressed(8, "int"), "int8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({}, "bf16"),
        (None, "bf16"),
    ],
)
def test_methods(config: dict[str, Any] | None, dtype: str) -> None:
    facts = model_facts(FAMILIES["llama"] | {"quantization_config": config}, where="x")
    assert (facts.gemm_dtype, facts.dtype, bool(facts.quantisation)) == (dtype, "bf16", bool(config))


@pytest.mark.parametrize(
    "config",
    [
        {"quant_method": "hqq"},
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "fp8", "weight_block_size": [64]},
    ],
)
def test_a_method_that_is_not_known_is_refused(config: dict[str, Any]) -> None:
    """Defect: an unknown format priced as unquantised."""
    with pytest.raises(ServingSimError):
        model_facts(FAMILIES["llama"] | {"quantization_config": config}, where="x")


def test_the_file_beside_the_config_is_read(tmp_path: Path) -> None:
    """Defect: a ModelOpt checkpoint, which says it only there, priced in bf16."""
    stated = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    (tmp_path / "config.json").write_text(json.dumps(FAMILIES["llama"]))
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": stated}))
    facts = read_model(tmp_path)
    assert (facts.gemm_dtype, facts.kv_dtype, facts.quantisation) == ("fp8", "fp8", "modelopt FP8")


def test_four_bit_floats_are_told_apart_by_their_blocks() -> None:
    """Defect: nvfp4 weights, whose activations have four bits too, priced as mxfp4."""
    facts = model_facts(FAMILIES["llama"], where="x", hf_quant={"quantization": {"quant_algo": "NVFP4"}})
    assert (facts.gemm_dtype, facts.unknown) == ("nvfp4", ())
    for block, dtype in ((16, "nvfp4"), (32, "mxfp4")):
        config = compressed(4, "float")
        config["config_groups"]["group_0"]["weights"]["group_size"] = block
        assert model_facts(FAMILIES["llama"] | {"quantization_config": config}, where="x").gemm_dtype == dtype


def test_weights_of_several_formats_are_not_passed_for_one() -> None:
    """Defect: a checkpoint with experts in four bits and attention in eight priced in one of them, unsaid."""
    config = compressed(8, "float")
    config["config_groups"]["group_1"] = {"weights": {"num_bits": 4, "type": "int"}}
    facts = model_facts(FAMILIES["llama"] | {"quantization_config": config}, where="x")
    assert facts.unknown == ("weights of several formats: the first group's stands for all",)


@pytest.mark.parametrize(
    ("ignored", "attention", "experts"),
    [
        ([], "mxfp4", "mxfp4"),
        (["model.layers.*.self_attn", "lm_head"], "bf16", "mxfp4"),
        (["re:.*self_attn.*"], "bf16", "mxfp4"),
        (["*mlp.experts*"], "mxfp4", "bf16"),
        (["re:["], "mxfp4", "mxfp4"),
    ],
)
def test_modules_left_alone_keep_their_dtype(ignored: list[str], attention: str, experts: str) -> None:
    """Defect: gpt-oss's attention priced in mxfp4, or the pattern's dialect not understood."""
    config = {"quant_method": "mxfp4", "modules_to_not_convert": ignored}
    facts = model_facts(FAMILIES["gpt_oss"] | {"quantization_config": config}, where="x")
    assert (weight_dtype(facts, "attention"), weight_dtype(facts, "experts")) == (attention, experts)
    assert (weight_dtype(facts, "router"), weight_dtype(facts, "lm_head")) == ("bf16", "bf16")


def test_bytes_of_the_published_checkpoint(shared_data: Path) -> None:
    """Defect: scales forgotten, or attention counted in four bits: gpt-oss-20b's files hold 13.76 GB."""
    facts = read_model(shared_data / "configs" / "openai--gpt-oss-20b.json")
    assert weight_bytes(facts) == pytest.approx(13.76e9, rel=0.01)
