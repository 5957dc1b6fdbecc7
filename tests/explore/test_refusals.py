"""What is refused, by which name; what is unknown is named and not guessed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts, read_model
from servingsim.errors import ServingSimError

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "bert"}, '"bert" is an encoder'),
        ({"model_type": "t5", "is_encoder_decoder": True}, "is_encoder_decoder true has an encoder"),
        ({"model_type": "jamba"}, "has Mamba-1 layers"),
        ({"model_type": None}, "model_type: missing"),
        ({"model_type": 7}, "model_type: 7"),
        ({"num_key_value_heads": 3}, "num_attention_heads 8 is no multiple of num_key_value_heads 3"),
        ({"head_dim": None, "hidden_size": 65}, "hidden_size 65 is no multiple of num_attention_heads 8"),
        ({"hidden_size": "64"}, 'hidden_size: "64"'),
        ({"vocab_size": -1}, "vocab_size: -1"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers: 1000000"),
        ({"torch_dtype": None}, "dtype: missing"),
        ({"torch_dtype": "float8_e4m3fn"}, "float8_e4m3fn"),
        ({"text_config": {"model_type": "bert"}}, '"bert" is an encoder'),
    ],
)
def test_a_refusal_names_the_field_and_its_value(changes: dict[str, Any], said: str) -> None:
    """Defect: a message that leaves the reader to search the file."""
    with pytest.raises(ServingSimError, match=said.replace("(", "\\(")):
        model_facts(FAMILIES["llama"] | changes, where="config.json")


def test_more_experts_for_a_token_than_there_are() -> None:
    with pytest.raises(ServingSimError, match="9 experts a token of 8 experts"):
        model_facts(FAMILIES["qwen3_moe"] | {"num_experts_per_tok": 9}, where="x")


def test_two_names_of_one_count_that_disagree() -> None:
    """Defect: one of two contradicting expert counts picked in silence."""
    with pytest.raises(ServingSimError, match="num_experts 8, num_local_experts 16"):
        model_facts(FAMILIES["qwen3_moe"] | {"num_local_experts": 16}, where="x")


def test_an_unknown_type_is_read_by_its_fields_and_says_what_they_leave_open() -> None:
    """Defect: an unknown model described with another's habits, silently."""
    facts = model_facts(
        FAMILIES["llama"] | {"model_type": "novel", "use_qk_norm": True, "widget_count": 3}, where="x"
    )
    assert facts.family == "dense"
    assert "qk_norm" not in facts.unknown
    assert {"output_gate", "gated"} <= set(facts.unknown)
    assert facts.unknown[-1] == "what these fields mean: widget_count"


def test_a_checkpoint_under_its_own_name_is_read_as_the_code_that_it_names() -> None:
    """Defect: a renamed DeepSeek read without its selecting biases, its facts called unknown."""
    own = FAMILIES["deepseek_v3"] | {"model_type": "novel", "architectures": ["DeepseekV3ForCausalLM"]}
    facts = model_facts(own, where="x")
    assert facts == replace(model_facts(FAMILIES["deepseek_v3"], where="x"), model_type="novel")


def test_an_unknown_type_with_experts_needs_their_width() -> None:
    """Defect: an expert's width taken from intermediate_size, which is the dense layers'."""
    data = {name: value for name, value in FAMILIES["qwen3_moe"].items() if name != "moe_intermediate_size"}
    with pytest.raises(ServingSimError, match="moe_intermediate_size: missing"):
        model_facts(data | {"model_type": "novel"}, where="x")


def test_an_activation_that_has_no_name_here_is_unknown() -> None:
    assert model_facts(FAMILIES["llama"] | {"hidden_act": "xielu"}, where="x").unknown == ("activation",)


def test_old_names_say_the_same_as_new_ones() -> None:
    """Defect: a field that is only read under its newest name."""
    old = {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "num_key_value_heads": "num_kv_heads",
        "intermediate_size": "ffn_hidden_size",
        "max_position_embeddings": "max_seq_len",
        "torch_dtype": "dtype",
    }
    renamed = {old.get(name, name): value for name, value in FAMILIES["llama"].items()}
    assert model_facts(renamed, where="x") == model_facts(FAMILIES["llama"], where="x")


def test_what_cost_does_not_depend_on_may_be_broken() -> None:
    """Defect: a refusal over rope_scaling written as text, or rope_parameters without rope_theta."""
    odd = {"rope_scaling": "linear", "rope_parameters": {"rope_type": "default"}, "initializer_range": "x"}
    assert model_facts(FAMILIES["llama"] | odd, where="x") == model_facts(FAMILIES["llama"], where="x")


def test_a_file_that_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(ServingSimError, match="no such file"):
        read_model(tmp_path)
    broken = tmp_path / "config.json"
    broken.write_text('{"model_type": "lla')
    with pytest.raises(ServingSimError, match="is not JSON"):
        read_model(tmp_path)
    broken.write_text(json.dumps(FAMILIES["llama"]))
    assert read_model(tmp_path) == model_facts(FAMILIES["llama"], where="x")
    assert read_model(broken, dtype="fp16").dtype == "fp16"
