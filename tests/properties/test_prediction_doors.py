"""Whatever a user types or feeds in becomes a model, a batch, or a refusal: never another exception."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from server.batch_text import read_batch
from servingsim.archs.dense import whole_shape
from servingsim.archs.hf_config import dense_facts
from servingsim.archs.kv import kv_bytes_per_token, weight_bytes
from servingsim.archs.stacks.vllm import STACK as VLLM
from servingsim.errors import ServingSimError
from servingsim.worklets.partition import partition

CONFIGS = [
    json.loads(path.read_text())
    for path in sorted((Path(__file__).resolve().parents[1] / "fixtures" / "configs").glob("*.json"))
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
TYPED = st.from_regex(r"[0-9:x,. -]{0,12}", fullmatch=True) | st.text(max_size=12)


@given(st.lists(TYPED, max_size=3), st.lists(TYPED, max_size=3))
def test_any_typed_batch(prefill: list[str], decode: list[str]) -> None:
    with contextlib.suppress(ServingSimError):
        batch = read_batch(prefill, decode, None)
        assert batch.num_requests > 0


@given(st.integers(1, 4096), st.integers(0, 4096), st.integers(1, 64))
def test_a_typed_batch_says_what_it_was_given(q_len: int, prefix_len: int, count: int) -> None:
    batch = read_batch([f"{q_len}:{prefix_len}x{count}"], [f"{prefix_len}x{count}"], None)
    assert batch.rows.q_len.tolist() == [q_len] * count
    assert batch.rows.prefix_len.tolist() == [prefix_len] * count
    assert batch.rows.kv_len.tolist() == [prefix_len + 1] * count


@settings(max_examples=300)
@given(st.sampled_from(CONFIGS), st.data())
def test_any_value_in_any_field_of_a_config(config: dict[str, Any], data: st.DataObject) -> None:
    """Defect: a traceback, or a model of nonsense sizes, from a config that somebody edited."""
    field = data.draw(st.sampled_from(sorted(config)))
    with contextlib.suppress(ServingSimError):
        facts = dense_facts(config | {field: data.draw(JSON)}, where="x")
        assert facts.parameters > 0
        assert facts.num_heads % facts.num_kv_heads == 0


@given(st.sampled_from(CONFIGS), st.integers(-2, 80))
def test_the_ranks_hold_the_model(config: dict[str, Any], tp: int) -> None:
    """Defect: a partition that loses or invents weights; replication may add, division may not."""
    facts = dense_facts(config, where="x")
    whole = whole_shape(facts)
    with contextlib.suppress(ServingSimError):
        rank = partition(whole, tp, VLLM)
        assert rank.num_heads * tp == whole.num_heads
        assert rank.intermediate_size * tp == whole.intermediate_size
        assert rank.vocab_size * tp >= whole.vocab_size
        assert weight_bytes(facts, rank) * tp >= weight_bytes(facts, whole)
        assert kv_bytes_per_token(facts, rank) * tp >= kv_bytes_per_token(facts, whole)
