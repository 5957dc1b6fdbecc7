"""From the facts of a model to necessary work: which weights are quantised, what is cached, how it is spread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LayerClass,
    LinearAttention,
    ModelFacts,
    MoeMlp,
    SoftmaxAttention,
)
from servingsim.sim.necessary_general import Deployment, necessary_general
from servingsim.timing.batch import Batch

HIDDEN, VOCABULARY = 64, 640
HEAD = HIDDEN * VOCABULARY
GQA = SoftmaxAttention(num_heads=8, num_kv_heads=2, head_dim=16, v_head_dim=16)
ATTENTION = HIDDEN * 16 * (2 * 8 + 2 * 2)
MOE = MoeMlp(num_experts=8, top_k=2, expert_size=32, shared_size=48)
EXPERT, SHARED, ROUTER = 3 * HIDDEN * 32, 3 * HIDDEN * 48, 8 * HIDDEN
DECODE = Batch.of(decode=[100])


def facts(layer: LayerClass) -> ModelFacts:
    """A model of these layers, its linear weights in fp8."""
    return ModelFacts(
        model_type="made_up",
        family="moe",
        hidden_size=HIDDEN,
        vocab_size=VOCABULARY,
        tied_embeddings=False,
        max_positions=4096,
        dtype="bf16",
        gemm_dtype="fp8",
        quantisation="fp8",
        kv_dtype="bf16",
        layers=(layer,),
    )


MODEL = facts(LayerClass("layers", (0, 1, 2), GQA, MOE))


def weights(model: ModelFacts, served: Deployment | None = None) -> float:
    """Bytes of weights that a step of one request reads."""
    return necessary_general(model, served or Deployment(), DECODE).weight_bytes()


def test_router_embedding_and_lm_head_stay_in_the_models_dtype() -> None:
    """Defect: a quantisation of the linear layers taken for one of everything."""
    layer = ATTENTION + 2 * EXPERT + SHARED + 2 * ROUTER
    assert weights(MODEL) == 3 * layer + 2 * (HIDDEN + HEAD)


def test_what_a_quantisation_leaves_alone_has_its_full_width() -> None:
    """Defect: `modules_to_not_convert` ignored."""
    spared = replace(MODEL, unquantised=("re:.*self_attn.*", "re:.*shared_experts.*"))
    assert weights(spared) - weights(MODEL) == 3 * (ATTENTION + SHARED)


def test_the_cache_has_the_dtype_that_it_is_served_with() -> None:
    """Defect: an fp8 cache counted at the model's width."""
    half, whole = (
        necessary_general(MODEL, Deployment(kv_dtype=dtype), DECODE).read_bytes() for dtype in ("fp8", None)
    )
    assert half * 2 == whole == 3 * 2 * 2 * 16 * 99 * 2


@pytest.mark.parametrize(("tp", "ep"), [(4, 1), (4, 2), (4, 4), (1, 4), (2, 8)])
def test_all_ranks_together_do_what_one_would(tp: int, ep: int) -> None:
    """Defect: experts divided by tp and ep both, or a group's tokens that only its own ranks serve."""
    groups = max(ep // tp, 1)
    alone = necessary_general(MODEL, Deployment(), Batch.of(decode=[100] * 6 * groups))
    rank = necessary_general(MODEL, Deployment(tp, ep), Batch.of(decode=[100] * 6))
    assert rank.flops_of("experts") * tp * groups == pytest.approx(alone.flops_of("experts"))
    assert rank.weight_bytes("experts") * tp * groups == pytest.approx(alone.weight_bytes("experts"))
    assert rank.flops_of("attention") * tp * groups == pytest.approx(alone.flops_of("attention"))


def test_a_batch_of_both_phases_reads_its_weights_once() -> None:
    """Defect: a mixed step counted as two steps."""
    both, prefill, decode = (
        necessary_general(MODEL, Deployment(), batch)
        for batch in (Batch.of([(50,)], [100]), Batch.of([(50,)]), DECODE)
    )
    assert both.weight_bytes("gemm") == prefill.weight_bytes("gemm") == decode.weight_bytes("gemm")
    assert both.flops == pytest.approx(prefill.flops + decode.flops)
    assert both.read_bytes() == prefill.read_bytes() + decode.read_bytes()


def test_an_unsampled_chunk_needs_no_logits() -> None:
    """Defect: the lm_head read for every chunk of a prompt."""
    final, chunk = (
        necessary_general(MODEL, Deployment(), Batch.of([(50, 0, last)])) for last in (True, False)
    )
    assert final.flops - chunk.flops == 2 * HEAD
    assert final.weight_bytes() - chunk.weight_bytes() == 2 * HEAD


def test_a_stack_that_does_not_absorb_expands_the_whole_context_to_decode() -> None:
    """Defect: an eager implementation held to a form that it does not have."""
    latent = LatentAttention(8, 24, 32, 16, 8, 16)
    model = facts(LayerClass("layers", (0,), latent, DenseMlp(32)))
    engine, eager = (
        necessary_general(model, Deployment(absorbs=absorbs), DECODE) for absorbs in (True, False)
    )
    assert engine.read_bytes() == eager.read_bytes() == 99 * (32 + 8) * 2
    assert eager.flops_of("gemm") - engine.flops_of("gemm") == 2 * 99 * 32 * 8 * (16 + 16)


def test_a_recurrent_state_is_fp32_whatever_the_model_is() -> None:
    """Defect: half the state's bytes."""
    model = facts(LayerClass("layers", (0,), LinearAttention(2, 4, 16, 8, 4), None))
    found = necessary_general(model, Deployment(), DECODE)
    assert found.read_bytes("scan") == found.written_bytes("scan") == 4 * 16 * 8 * 4


def test_the_least_never_exceeds_what_an_engine_does() -> None:
    """Defect: a bound that an engine beats."""
    model = facts(LayerClass("layers", (0,), LatentAttention(8, 24, 32, 16, 8, 16), None))
    for batch in (DECODE, Batch.of([(4, 900)]), Batch.of([(900, 4)]), Batch.of([(1, 5)])):
        engine, least = (necessary_general(model, Deployment(least=least), batch) for least in (False, True))
        assert least.flops <= engine.flops
