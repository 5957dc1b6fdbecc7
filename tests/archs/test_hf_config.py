"""config.json to facts: what each model type means, and every refusal by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.facts import DenseFacts, LayerGroup
from servingsim.archs.hf_config import dense_facts, read_facts
from servingsim.errors import ServingSimError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "configs"


def small(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """The small Llama with fields replaced; `...` drops one."""
    data = json.loads((FIXTURES / "llama_small.json").read_text()) | changes
    return {name: value for name, value in data.items() if value is not ...}


def test_a_plain_llama_in_full() -> None:
    assert read_facts(FIXTURES / "llama_small.json") == DenseFacts(
        model_type="llama",
        hidden_size=64,
        num_layers=3,
        num_heads=8,
        num_kv_heads=2,
        head_dim=8,
        intermediate_size=192,
        vocab_size=1024,
        tied_embeddings=False,
        qk_norm=False,
        qkv_bias=False,
        o_bias=False,
        mlp_bias=False,
        window_size=0,
        num_sliding_layers=0,
        max_positions=4096,
        dtype="bf16",
        gemm_dtype="bf16",
    )


def test_absent_kv_heads_are_multi_head_attention() -> None:
    """Defect: a model of the first generation priced with the KV cache of another."""
    facts = read_facts(FIXTURES / "llama_mha.json")
    assert (facts.num_kv_heads, facts.dtype) == (8, "fp32")


def test_head_dim_may_differ_from_hidden_over_heads() -> None:
    """Defect: head_dim taken from hidden_size / heads where the config states another."""
    facts = read_facts(FIXTURES / "qwen3_wide_heads.json")
    assert (facts.head_dim, facts.num_heads * facts.head_dim, facts.hidden_size) == (32, 256, 64)
    assert (facts.qk_norm, facts.tied_embeddings) == (True, True)


def test_a_window_that_is_switched_off_is_no_window() -> None:
    """Defect: `sliding_window` present but unused cuts the KV cache."""
    assert read_facts(FIXTURES / "qwen3_wide_heads.json").layer_groups == (LayerGroup("layers", 3, 0),)


def test_a_llama_never_slides() -> None:
    assert dense_facts(small(sliding_window=128), where="x").window_size == 0


def test_qwen2_slides_from_max_window_layers_on_and_has_qkv_biases() -> None:
    facts = read_facts(FIXTURES / "qwen2_sliding.json")
    groups = (LayerGroup("layers", 1, 0), LayerGroup("sliding_layers", 2, 128))
    assert facts.layer_groups == groups
    assert (facts.qkv_bias, facts.o_bias) == (True, False)


def test_layer_types_decide_where_they_are_given() -> None:
    types = ["full_attention", "sliding_attention", "full_attention"]
    data = json.loads((FIXTURES / "qwen2_sliding.json").read_text()) | {"layer_types": types}
    assert dense_facts(data, where="x").num_sliding_layers == 1
    with pytest.raises(ServingSimError, match="layer_types has 2 entries"):
        dense_facts(data | {"layer_types": types[:2]}, where="x")


def test_every_layer_of_a_mistral_slides() -> None:
    facts = read_facts(FIXTURES / "mistral_window.json")
    assert facts.layer_groups == (LayerGroup("sliding_layers", 3, 256),)
    assert facts.head_dim == 8


def test_a_mistral_window_of_null_is_none() -> None:
    data = json.loads((FIXTURES / "mistral_window.json").read_text()) | {"sliding_window": None}
    assert dense_facts(data, where="x").num_sliding_layers == 0


def test_fp8_blocks_quantise_the_linear_layers_only() -> None:
    facts = read_facts(FIXTURES / "qwen3_fp8.json")
    assert (facts.dtype, facts.gemm_dtype) == ("bf16", "fp8_block")


def test_a_chosen_dtype_replaces_the_configs() -> None:
    assert dense_facts(small(torch_dtype=...), where="x", dtype="fp32").dtype == "fp32"


def test_a_folder_stands_for_its_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(small()))
    assert read_facts(tmp_path) == read_facts(FIXTURES / "llama_small.json")


@pytest.mark.parametrize(
    "field",
    [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "model_type",
    ],
)
def test_a_missing_field_is_named(field: str) -> None:
    """Defect: a class default stands in silently for what the file does not say."""
    with pytest.raises(ServingSimError, match=f"{field}: missing"):
        dense_facts(small(**{field: ...}), where="x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 0}, "hidden_size: 0"),
        ({"hidden_size": -64}, "hidden_size: -64"),
        ({"hidden_size": "64"}, 'hidden_size: "64"'),
        ({"hidden_size": 64.0}, "hidden_size: 64.0"),
        ({"hidden_size": 10**12}, "hidden_size: 1000000000000"),
        ({"num_hidden_layers": True}, "num_hidden_layers: true"),
        ({"num_hidden_layers": None}, "num_hidden_layers: null"),
        ({"num_key_value_heads": 3}, "8 is no multiple of num_key_value_heads 3"),
        ({"hidden_size": 66}, "hidden_size 66 is no multiple of num_attention_heads 8"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"torch_dtype": "int3"}, "torch_dtype 'int3'"),
        ({"torch_dtype": ...}, "dtype: missing"),
        ({"dtype": "float32"}, "dtype 'float32', torch_dtype 'bfloat16'"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, 'quant_method "awq"'),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]}}, r"\[64, 64\]"),
        ({"model_type": "qwen3", "head_dim": ...}, "head_dim: missing, qwen3 needs it"),
        ({"model_type": "mistral", "num_key_value_heads": ...}, "num_key_value_heads: missing, mistral"),
        ({"model_type": "mamba"}, 'model_type "mamba"'),
        ({"model_type": 7}, "model_type 7"),
        ({"num_local_experts": 8}, "num_local_experts 8 says mixture of experts"),
        ({"kv_lora_rank": 512}, "multi-head latent attention"),
        ({"text_config": {"hidden_size": 64}}, "a model around a text model"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name_and_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ServingSimError, match=message) as raised:
        dense_facts(small(**changes), where="some/config.json")
    assert raised.value.path == "some/config.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"hidden_size": 64, "mod', "not JSON"),
        ("", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        ("\udcff".encode("utf-8", "surrogateescape"), "not JSON"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ServingSimError, match=message):
        read_facts(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServingSimError, match="no such file"):
        read_facts(tmp_path / "nothing.json")
    with pytest.raises(ServingSimError, match="no such file"):
        read_facts(tmp_path)


@pytest.mark.shared
def test_every_genuine_config_is_either_read_or_refused_with_its_reason(shared_data: Path) -> None:
    """Defect: an awkward genuine config crashes, or a sparse model is read as a dense one."""
    read, refused = set(), {}
    for path in sorted((shared_data / "configs").glob("*.json")):
        try:
            facts = read_facts(path)
        except ServingSimError as error:
            refused[path.stem] = error.what
        else:
            read.add((path.stem, facts.model_type))
    assert read == {
        ("Qwen--Qwen3-0.6B", "qwen3"),
        ("Qwen--Qwen3-32B", "qwen3"),
        ("Qwen--Qwen3-32B-FP8", "qwen3"),
        ("Qwen--Qwen3-8B", "qwen3"),
        ("llama-2-7b-hf", "llama"),
        ("llama-3.1-8b-instruct", "llama"),
        ("meta-llama--Meta-Llama-3.1-70B", "llama"),
        ("mistral-nemo-instruct-2407", "mistral"),
    }
    assert "mixture of experts" in refused["mixtral-8x7b-v0.1"]
    assert "latent attention" in refused["deepseek-v2-lite"] or "experts" in refused["deepseek-v2-lite"]
    assert all("model_type" in reason for reason in refused.values())
