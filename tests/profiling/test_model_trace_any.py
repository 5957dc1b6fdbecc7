"""Tracing any causal model: small configs of each family through the worker that traces genuine ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from profiling.model_trace import TracePhase, trace_from
from profiling.worker_process import WorkerProcess
from tests.profiling import model_trace_configs as configs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.model_trace import ModelTrace, TracedOp

pytest.importorskip("torch", reason="tracing needs torch")
pytest.importorskip("transformers", reason="tracing needs transformers")

PREFILL = TracePhase("prefill", batch=1, q_len=24, context=0)
DECODE = TracePhase("decode", batch=2, q_len=1, context=40)
CAUSAL_PAIRS = 24 * 25 // 2
BF16 = 2


@pytest.fixture(scope="module")
def answered() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """The answer to a config; one worker for all, since its imports take most of the time."""
    with WorkerProcess(1, "profiling.model_trace_worker") as worker:

        def ask(config: dict[str, Any]) -> dict[str, Any]:
            phases = [asdict(PREFILL), asdict(DECODE)]
            request = {"op": "trace_any", "config": config, "phases": phases, "dtype": "bf16"}
            return dict(worker.ask(request, 120.0))

        yield ask


@pytest.fixture
def traced(
    answered: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[[dict[str, Any]], ModelTrace]:
    """A trace of a config, both phases."""

    def trace(config: dict[str, Any]) -> ModelTrace:
        answer = answered(config)
        assert answer["ok"], answer
        return trace_from(answer)

    return trace


def ops(trace: ModelTrace, aten: str, phase: str = "prefill", layer: int | None = None) -> list[TracedOp]:
    """The operations of one name in one phase, of one layer where it is said."""
    return [op for op in trace.ops if (op.aten, op.phase) == (aten, phase) and layer in {None, op.layer}]


def classes(trace: ModelTrace) -> list[tuple[str, tuple[int, ...]]]:
    """The layer classes."""
    return [(each.name_hint, each.indices) for each in trace.classes]


def test_equal_layers_are_one_class_and_attention_counts_what_causality_leaves(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: every layer a class of its own, or attention counted over the whole square."""
    trace = traced(configs.LLAMA)
    (attention,), (one_token,) = ops(trace, "region.attention"), ops(trace, "region.attention", "decode")
    assert classes(trace) == [("attention", (0, 1, 2))]
    assert {op.layer for op in trace.ops} == {-1, 0}
    assert attention.module == "self_attn"
    assert attention.inputs == ((1, 4, 24, 16), (1, 2, 24, 16), (1, 2, 24, 16))
    assert attention.flops == 2 * 4 * (16 + 16) * CAUSAL_PAIRS
    assert one_token.flops == 2 * 2 * 4 * (16 + 16) * 41
    per_layer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128 + 2 * 64
    assert trace.parameters == 3 * per_layer + 2 * 256 * 64 + 64
    assert attention.anchor.startswith("models/llama/modeling_llama.py:")
    assert trace.layers_path == "model.layers"


def test_linear_layers_take_the_flops_and_bytes_of_their_shapes(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: a product whose depth is read from the wrong operand, or an in-place result taken for a view."""
    trace = traced(configs.LLAMA)
    down = next(op for op in ops(trace, "aten.linear") if op.module == "mlp.down_proj")
    assert down.flops == 2 * 24 * 128 * 64
    assert down.bytes_moved == BF16 * (24 * 128 + 128 * 64 + 24 * 64)
    assert all(op.flops == op.bytes_moved == 0 for op in trace.ops if op.view)


def test_sliding_layers_are_told_from_full_ones_by_what_they_compute(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: a window that no shape shows is lost, so that alternating layers fall into one class."""
    trace = traced(configs.GEMMA2)
    assert classes(trace) == [("sliding_attention", (0, 2)), ("attention", (1, 3))]
    sliding, full = (ops(trace, "region.attention", layer=layer)[0] for layer in (0, 1))
    pairs = sum(min(each, 8) for each in range(1, 25))
    assert (sliding.flops, full.flops) == (128 * 2 * pairs, 128 * 2 * CAUSAL_PAIRS)
    assert (sliding.detail, full.detail) == ("window 8", "")


def test_routed_experts_are_one_region_with_the_work_of_the_chosen_ones(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: grouped products counted as nothing, or the weights of experts that no token goes to."""
    trace = traced(configs.QWEN3_MOE)
    assert classes(trace) == [("attention_moe", (0, 2, 3)), ("attention", (1,))]
    (experts,) = ops(trace, "region.experts", "decode")
    assert experts.flops == 2 * 2 * 2 * 3 * 64 * 32
    touched = 8 * (1 - (1 - 2 / 8) ** 2)
    assert experts.bytes_moved == pytest.approx(BF16 * (touched * 3 * 64 * 32 + 2 * 2 * 64))
    assert (experts.module, experts.detail) == ("mlp.experts", "experts 8 top_k 2")
    assert not ops(trace, "aten._grouped_mm")


def test_experts_that_transformers_computes_all_are_counted_for_the_chosen_ones(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: llama4 priced as if every token went through every expert, eight times the work."""
    trace = traced(configs.LLAMA4)
    assert [each.name_hint for each in trace.classes] == ["chunked_attention_moe", "attention_moe"]
    experts = ops(trace, "region.experts", layer=0)[0]
    assert experts.flops == 2 * 24 * 1 * 3 * 64 * 128
    chunked = ops(trace, "region.attention", layer=0)[0]
    assert chunked.flops == 2 * 4 * 32 * 3 * (8 * 9 // 2)


def test_a_delta_rule_is_one_operation_linear_in_the_tokens(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: the reference's Python loop over chunks recorded operation by operation."""
    trace = traced(configs.QWEN3_NEXT)
    assert classes(trace) == [("linear_moe", (0, 1, 2)), ("attention_moe", (3,))]
    (prefill,), (decode,) = (ops(trace, "region.gated_delta_rule", phase) for phase in ("prefill", "decode"))
    state = 4 * 16 * 8
    assert (prefill.flops, decode.flops) == (7 * 24 * state, 7 * 2 * state)
    (conv,) = ops(trace, "region.causal_conv1d")
    assert conv.flops == 2 * 4 * 24 * (2 * 2 * 16 + 4 * 8)


def test_a_state_space_scan_is_one_operation_in_both_phases(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: a hybrid or pure recurrent model refused because its cache has no attention layer."""
    trace = traced(configs.MAMBA2)
    (prefill,), (decode,) = (ops(trace, "region.mamba_scan", phase) for phase in ("prefill", "decode"))
    state = 8 * 16 * 32
    assert classes(trace) == [("mamba", (0, 1))]
    assert (prefill.flops, decode.flops) == (5 * 24 * state, 5 * 2 * state)


def test_a_model_type_that_is_unknown_is_built_as_the_architecture_it_names(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: a config whose model code is another family's is refused, or latent attention loses its widths."""
    trace = traced(configs.KIMI_K2)
    assert trace.model_class == "DeepseekV3ForCausalLM"
    assert classes(trace) == [("attention", (0,)), ("attention_moe", (1, 2))]
    attention = ops(trace, "region.attention", "decode", layer=0)[0]
    assert attention.inputs == ((2, 4, 1, 24), (2, 4, 41, 24), (2, 4, 41, 12))
    assert attention.flops == 2 * 2 * 4 * (24 + 12) * 41


def test_of_a_nested_config_only_the_text_model_is_traced(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: the vision tower's blocks taken for the decoder's layers, or its weights counted."""
    trace = traced(configs.QWEN3_VL)
    per_layer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128 + 2 * 64 + 2 * 16
    assert trace.layers_path == "model.language_model.layers"
    assert classes(trace) == [("attention", (0, 1))]
    assert trace.parameters == 2 * per_layer + 2 * 256 * 64 + 64


def test_attention_that_a_model_writes_out_by_hand_is_made_whole(
    traced: Callable[[dict[str, Any]], ModelTrace],
) -> None:
    """Defect: attention split into product, softmax and product, which no stack launches."""
    trace = traced(configs.BLOOM)
    (attention,) = ops(trace, "region.attention", "decode")
    assert classes(trace) == [("attention", (0, 1))]
    assert attention.flops == 2 * 2 * 4 * (16 + 16) * 41
    assert not ops(trace, "aten.softmax", "decode")


def test_what_transformers_does_not_know_is_refused_with_its_names(
    answered: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Defect: an unknown model traced as something else, or refused without saying what was looked for."""
    answer = answered({"model_type": "no_such", "architectures": ["NoSuchForCausalLM"]})
    assert not answer["ok"]
    assert "knows no model type 'no_such' (architectures: NoSuchForCausalLM)" in answer["reason"]


def test_a_config_that_cannot_be_built_is_refused_with_the_reason_of_the_library(
    answered: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Defect: a broken config ends the worker, and with it the traces after it."""
    answer = answered(configs.LLAMA | {"hidden_size": "wide"})
    assert not answer["ok"]
    assert "hidden_size" in answer["reason"]
    assert answered(configs.BLOOM)["ok"]
