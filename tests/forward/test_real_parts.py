"""A tiny real model: its parts timed, its cache, and the experts that its tokens go to."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from profiling.forward_case import ForwardCase
from profiling.forward_model import ForwardModel
from server.forward.groups import ONCE, by_group

HYBRID: dict[str, Any] = {
    "model_type": "qwen3_next",
    "hidden_size": 32,
    "intermediate_size": 64,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "linear_num_key_heads": 1,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "vocab_size": 1024,
    "max_position_embeddings": 128,
}
MOST_UNNAMED = {"model", "model.rotary_emb", "create_causal_mask", "create_recurrent_attention_mask"}
"""What runs once an iteration and is no operation."""


@pytest.fixture(scope="module")
def hybrid() -> ForwardModel:
    """Three gated delta rules and one attention, each with routed and shared experts."""
    return ForwardModel(HYBRID, "fp32", "cpu")


@pytest.mark.slow
def test_spans_divide_a_step_without_a_rest(hybrid: ForwardModel) -> None:
    """Defect: time that no span owns, or two spans own, moves the error to another operation."""
    step = hybrid.divide(ForwardCase(2, 1, 8), 3)
    assert len(step.samples) == 3
    whole_ms = sum(sample.ms for sample in step.samples)
    own_ms = sum(span.own_ns for span in step.spans.values()) / 1e6
    assert 0.8 * whole_ms < own_ms <= whole_ms
    assert all(span.own_ns > 0 for span in step.spans.values())
    calls = {label: span.calls // 3 for label, span in step.spans.items()}
    assert calls["model.layers.input_layernorm"] == 4
    assert calls["torch_recurrent_gated_delta_rule"] == 3
    assert calls["attention"] == calls["cache.update"] == 1
    assert calls["causal_conv1d_update"] == 3


@pytest.mark.slow
def test_every_span_of_a_hybrid_is_a_part_by_name(hybrid: ForwardModel) -> None:
    """Defect: a module that nothing names is taken for the host's part of the iteration."""
    for case in (ForwardCase(1, 6, 0), ForwardCase(2, 1, 8)):
        spans = hybrid.divide(case, 1).spans
        unnamed = {label for label in spans if ONCE in by_group({label: 1.0}, "spans")}
        assert unnamed <= MOST_UNNAMED, case.label


@pytest.mark.slow
def test_a_context_is_there_for_keys_and_for_states(hybrid: ForwardModel) -> None:
    """Defect: a hybrid's decode from an empty state runs its prompt's functions instead of a token's."""
    samples = hybrid.run(ForwardCase(2, 1, 8), 2)
    assert len(samples) == 2
    spans = hybrid.divide(ForwardCase(1, 4, 12), 1).spans
    assert spans["torch_chunk_gated_delta_rule"].calls == 3
    assert "torch_recurrent_gated_delta_rule" not in spans


@pytest.mark.slow
def test_experts_are_counted_in_the_steps_that_count(hybrid: ForwardModel) -> None:
    """Defect: the token that builds the cache goes to the fewest experts there are, and halves the mean."""
    one = hybrid.divide(ForwardCase(1, 1, 8), 4)
    assert one.active_experts == 2.0  # each layer's router chooses two for the only token
    many = hybrid.divide(ForwardCase(8, 1, 8), 2)
    assert 2.0 <= many.active_experts <= 6.0


@pytest.mark.slow
def test_nothing_stays_wrapped(hybrid: ForwardModel) -> None:
    """Defect: wrappers that stay slow every later step that is compared."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415 - heavy

    before = ALL_ATTENTION_FUNCTIONS["sdpa"]
    hybrid.divide(ForwardCase(1, 4, 0), 1)
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is before
    again = hybrid.divide(ForwardCase(1, 4, 0), 1).spans
    assert again["attention"].calls == 1
