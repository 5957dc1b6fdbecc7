"""Kinds as data: args, their order, their limits, and the work model that goes with them."""

from __future__ import annotations

import inspect
import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from profiling.contract import Dtype, KernelKind
from profiling.registry import kinds
from servingsim.errors import ServingSimError

FIELDS = {
    "all_gather": "num_ranks message_bytes dtype",
    "all_reduce": "num_ranks message_bytes dtype",
    "reduce_scatter": "num_ranks message_bytes dtype",
    "attention_decode": "batch_size kv_len num_heads num_kv_heads head_dim dtype kv_dtype window_size",
    "attention_mixed": "q_len prefix_len num_decodes kv_len num_heads num_kv_heads head_dim dtype kv_dtype "
    "window_size",
    "attention_prefill": "batch_size q_len prefix_len num_heads num_kv_heads head_dim dtype kv_dtype "
    "window_size",
    "elementwise": "num_tokens op input_bytes_per_token output_bytes_per_token dtype",
    "fused_moe": "num_tokens hidden_size inter_size topk num_experts moe_tp_size moe_ep_size distribution "
    "dtype",
    "gated_delta_decode": "batch_size num_k_heads num_v_heads k_head_dim v_head_dim dtype",
    "gated_delta_prefill": "batch_size q_len num_k_heads num_v_heads k_head_dim v_head_dim dtype",
    "grouped_gemm": "m num_groups n k dtype",
    "mamba2_decode": "batch_size num_heads head_dim state_size num_groups dtype",
    "mamba2_prefill": "batch_size q_len num_heads head_dim state_size num_groups dtype",
    "mla_decode": "batch_size kv_len num_heads kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim "
    "dtype kv_dtype",
    "mla_prefill": "batch_size q_len prefix_len num_heads kv_lora_rank qk_nope_head_dim qk_rope_head_dim "
    "v_head_dim dtype kv_dtype",
    "moe_combine": "num_tokens hidden_size topk num_experts num_ranks dtype",
    "moe_dispatch": "num_tokens hidden_size topk num_experts num_ranks dtype",
    "p2p": "message_bytes dtype",
    "rms_norm": "num_tokens hidden_size dtype",
    "single_gemm": "m n k dtype",
    "topk_routing": "num_tokens num_experts topk dtype",
}
KINDS = kinds()
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def test_fields_and_their_order_are_those_of_the_stored_tables() -> None:
    """Defect: a renamed or reordered field makes every stored row of the kind unreadable."""
    assert {name: " ".join(kind.fields) for name, kind in KINDS.items()} == FIELDS


@each_kind
def test_work_takes_exactly_the_args_fields(kind: KernelKind) -> None:
    """Defect: a work model that misses a field is wrong for it, one that asks for another can not be
    called.
    """
    assert set(inspect.signature(kind.work).parameters) == set(kind.fields)


@each_kind
def test_the_smoke_spec_is_valid_and_small(kind: KernelKind) -> None:
    """Defect: the hand-off's smoke run fails for its own example, or takes gigabytes."""
    assert kind.args.model_validate(kind.smoke).model_dump() == kind.smoke
    assert list(kind.smoke) == list(kind.fields)
    assert 0 < float(kind.work(**kind.smoke).bytes_moved) < 2**24


@each_kind
def test_every_field_says_what_it_means(kind: KernelKind) -> None:
    """Defect: a schema without descriptions leaves an agent to guess units."""
    properties = kind.args.model_json_schema()["properties"]
    assert [name for name in kind.fields if not properties[name].get("description")] == []


@each_kind
def test_dtype_fields_are_fields_of_the_kind(kind: KernelKind) -> None:
    """Defect: a role that names no field lets every dtype through."""
    found = {name for name in kind.fields if name.endswith("dtype")}
    assert set(kind.dtype_fields.values()) == found


@each_kind
@pytest.mark.parametrize("bad", [-1, 2**63, 1.5, True, "16", None, float("nan"), 10**30])
def test_sizes_are_whole_positive_and_bounded(kind: KernelKind, bad: object) -> None:
    """Defect: a string, a bool or an absurd size slips into a table as a key that nothing will ever match."""
    for name, value in kind.smoke.items():
        if isinstance(value, int):
            with pytest.raises(ValidationError, match=name):
                kind.args.model_validate(kind.smoke | {name: bad})


@each_kind
def test_texts_come_from_a_closed_set(kind: KernelKind) -> None:
    """Defect: a misspelt dtype becomes a new key."""
    for name, value in kind.smoke.items():
        if isinstance(value, str):
            with pytest.raises(ValidationError, match=name):
                kind.args.model_validate(kind.smoke | {name: "Bf16 "})


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("fused_moe", {"topk": 5}, "topk 5 is more than num_experts 4"),
        ("topk_routing", {"topk": 9}, "topk 9 is more than num_experts 8"),
        ("moe_dispatch", {"num_ranks": 9}, "num_ranks 9 is more than num_experts 8"),
        ("moe_combine", {"num_ranks": 1}, "num_ranks"),
        ("gated_delta_decode", {"num_k_heads": 3}, "num_v_heads 4 is no multiple of num_k_heads 3"),
        ("mamba2_prefill", {"num_groups": 3}, "num_heads 4 is no multiple of num_groups 3"),
    ],
)
def test_counts_have_to_fit(name: str, changes: dict[str, int], message: str) -> None:
    """Defect: more experts a token than there are gives a work model below zero weights."""
    kind = KINDS[name]
    with pytest.raises(ValidationError, match=message):
        kind.args.model_validate(kind.smoke | changes)


@given(data=st.data())
def test_work_is_finite_and_never_negative_for_any_valid_args(data: st.DataObject) -> None:
    """Defect: an overflow or a negative estimate at a corner of the accepted range."""
    kind = data.draw(st.sampled_from(list(KINDS.values())))
    args = {name: data.draw(_values(kind, name), label=name) for name in kind.fields}
    try:
        valid = kind.args.model_validate(args)
    except ValidationError:
        return
    work = kind.work(**valid.model_dump())
    assert all(math.isfinite(float(part)) and float(part) >= 0 for part in work)
    assert float(work.bytes_moved) > 0


def _values(kind: KernelKind, name: str) -> st.SearchStrategy[Any]:
    schema = kind.args.model_json_schema()["properties"][name]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "string":
        return st.sampled_from(["balanced", "uniform", "power_law_1.2"])
    low, high = schema["minimum"], schema["maximum"]
    return st.one_of(st.integers(low, high), st.sampled_from([low, high]), st.integers(low, min(high, 256)))


def test_every_dtype_of_the_contract_has_a_width() -> None:
    """Defect: a dtype that args accept and the work models refuse."""
    kind = KINDS["rms_norm"]
    for dtype in get_args(Dtype):
        try:
            assert float(kind.work(**(kind.smoke | {"dtype": dtype})).bytes_moved) > 0
        except ServingSimError as error:  # pragma: no cover - the defect
            pytest.fail(str(error))
