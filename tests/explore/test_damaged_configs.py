"""Configs that were mutated, truncated or invented: facts or a named refusal, never another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servingsim.archs.explore import capacity, model_facts, parameters, request_state_bytes
from servingsim.errors import ServingSimError

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())
FIELDS = sorted({name for data in FAMILIES.values() for name in data | data.get("text_config", {})})

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["gelu", "full_attention", "fp8", "ME*-", "LLG", "bfloat16", "NVFP4", "²", "*"]),
    st.lists(st.one_of(st.none(), st.integers(-2, 9), st.text(max_size=3)), max_size=5),
    st.dictionaries(
        st.sampled_from([*FIELDS[:20], "quant_method", "bits", "5"]), st.integers(-1, 9), max_size=3
    ),
)
"""Values as damaged files have them."""
EXTRA = [
    "quantization_config",
    "per_layer_config",
    "layer_types",
    "mlp_layer_types",
    "moe_layers",
    "indexer_types",
    "no_rope_layers",
    "sliding_window_pattern",
    "full_attention_interval",
    "num_kv_shared_layers",
    "enable_moe_block",
    "swa_num_key_value_heads",
    "attn_config",
    "architectures",
    "text_config",
    "hybrid_layer_pattern",
    "layers_block_type",
]


def facts_or_refusal(data: dict[str, Any], **more: Any) -> None:  # noqa: ANN401 - any JSON
    try:
        facts = model_facts(data, where="mutated", **more)
        counted = parameters(facts)
        assert 0 < counted.embeddings <= counted.total
        assert counted.activated > 0
        assert facts.num_layers == len({index for each in facts.layers for index in each.indices})
        assert len({each.name for each in facts.layers}) == len(facts.layers)
        for tp in (1, 3):
            request_state_bytes(facts, 1000, tp)
            capacity(facts, 10**12, context=1000, tp=tp)
    except ServingSimError:
        return


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    changes=st.dictionaries(st.sampled_from([*FIELDS, *EXTRA]), odd, min_size=1, max_size=3),
    dropped=st.sets(st.sampled_from(FIELDS), max_size=2),
    nested=st.booleans(),
)
def test_mutated_configs(family: str, changes: dict[str, Any], dropped: set[str], *, nested: bool) -> None:
    """Defect: a traceback where a field has another type, sign, size or length than its reader thinks."""
    data = FAMILIES[family]
    inner = data.get("text_config")
    if nested and isinstance(inner, dict):
        changed = {name: value for name, value in (inner | changes).items() if name not in dropped}
        facts_or_refusal(data | {"text_config": changed})
    else:
        facts_or_refusal({name: value for name, value in (data | changes).items() if name not in dropped})


@settings(max_examples=60, deadline=None)
@given(
    data=st.dictionaries(
        st.one_of(st.sampled_from([*FIELDS, *EXTRA]), st.text(max_size=8)), odd, max_size=12
    ),
    model_type=st.one_of(st.sampled_from(sorted(FAMILIES)), st.text(max_size=5)),
)
def test_invented_configs(data: dict[str, Any], model_type: str) -> None:
    facts_or_refusal({"model_type": model_type, "dtype": "bfloat16"} | data)


@settings(max_examples=60, deadline=None)
@given(
    config=st.one_of(odd, st.dictionaries(st.sampled_from(["quant_method", "bits", "config_groups"]), odd)),
    beside=st.dictionaries(st.sampled_from(["quantization", "quant_algo", "kv_cache_quant_algo"]), odd),
)
def test_mutated_quantisation(config: object, beside: dict[str, Any]) -> None:
    facts_or_refusal(FAMILIES["llama"] | {"quantization_config": config}, hf_quant=beside)
    facts_or_refusal(FAMILIES["llama"], hf_quant={"quantization": beside})


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_config_without_one_of_its_fields(family: str) -> None:
    """Defect: a KeyError, or an essential size that is filled in silently."""
    for name in FAMILIES[family]:
        facts_or_refusal({key: value for key, value in FAMILIES[family].items() if key != name})
    sized = (
        ("hidden_size", "vocab_size")
        if family == "nemotron_h"
        else ("hidden_size", "num_hidden_layers", "vocab_size")
    )
    for name in sized:
        if name in FAMILIES[family]:
            with pytest.raises(ServingSimError, match=f"{name}: missing"):
                model_facts({key: value for key, value in FAMILIES[family].items() if key != name}, where="x")
