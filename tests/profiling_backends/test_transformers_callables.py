"""Callables that Transformers' own forward runs, against plain references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from profiling.backends import routing
from profiling.registry import backend_named

if TYPE_CHECKING:
    from collections.abc import Callable

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

pytest.importorskip("torch")

HEADS: dict[str, Any] = {
    "batch_size": 2,
    "num_heads": 4,
    "num_kv_heads": 2,
    "head_dim": 8,
    "dtype": "fp32",
    "kv_dtype": "fp32",
    "window_size": 0,
}
EXPERTS: dict[str, Any] = {
    "num_tokens": 6,
    "hidden_size": 8,
    "inter_size": 4,
    "topk": 2,
    "num_experts": 5,
    "moe_tp_size": 1,
    "moe_ep_size": 1,
    "dtype": "fp32",
}


def _elementwise(op: str, tokens: int, elements: int, inputs: float = 1) -> dict[str, Any]:
    return {
        "num_tokens": tokens,
        "op": op,
        "input_bytes_per_token": round(inputs * 4 * elements),
        "output_bytes_per_token": 4 * elements,
        "dtype": "fp32",
    }


@pytest.mark.parametrize(("q_len", "prefix_len"), [(6, 0), (4, 5)])
def test_prefill_of_transformers_is_that_of_torch(
    prepare: Prepare, close: Close, q_len: int, prefix_len: int
) -> None:
    """Defect: keys that are repeated in another order, or a mask that is dropped, time another attention."""
    pytest.importorskip("transformers")
    sizes = {**HEADS, "q_len": q_len, "prefix_len": prefix_len}
    ours = prepare("attention_prefill", **sizes).calls[0]
    theirs = prepare("attention_prefill", "transformers", **sizes).calls[0]
    query, key, value = ours.args
    output, _ = theirs.func(theirs.args[0], query, key, value, **theirs.keywords)
    close(output, ours().transpose(1, 2), "fp32")


def test_decode_of_transformers_is_that_of_torch(prepare: Prepare, close: Close) -> None:
    """Defect: a query that is masked like a prompt's first sees one key instead of all."""
    pytest.importorskip("transformers")
    ours = prepare("attention_decode", kv_len=9, **HEADS).calls[0]
    theirs = prepare("attention_decode", "transformers", kv_len=9, **HEADS).calls[0]
    output, _ = theirs.func(theirs.args[0], *ours.args, **theirs.keywords)
    close(output, ours().transpose(1, 2), "fp32")


def test_experts_of_transformers_compute_what_those_of_torch_do(prepare: Prepare, close: Close) -> None:
    """Defect: weights in another order, or experts that are skipped, time less than the layer does."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    ours = prepare("fused_moe", distribution="uniform", **EXPERTS).calls[0]
    theirs = prepare("fused_moe", "transformers", distribution="uniform", **EXPERTS).calls[0]
    tokens, gate_up, down, chosen, scores = (x for x in ours.args if torch.is_tensor(x))
    layer = theirs.args[0]
    layer.gate_up_proj, layer.down_proj = gate_up, down
    with torch.inference_mode():
        result = theirs.func(layer, tokens, chosen.view(6, 2), scores.view(6, 2))
        close(result, ours(), "fp32")


def test_experts_on_several_ranks_are_refused_by_the_backend_of_one() -> None:
    """Defect: Transformers has every expert on one rank; half of them would be measured as the whole."""
    backend = backend_named("fused_moe", "transformers")
    split = {**EXPERTS, "distribution": "balanced"}
    assert "one rank" in backend.supports(**{**split, "moe_ep_size": 5})
    assert backend.supports(**split) == ""


def test_so_many_active_experts_share_the_rows_evenly() -> None:
    """Defect: a run that used 5 of 16 experts is priced as reading all 16: decode comes out twice as long."""
    rows = np.bincount(routing.route(12, 4, 16, 1, "active_6", seed=7).experts, minlength=16)
    assert sorted(rows) == [0] * 10 + [8] * 6
    few = np.bincount(routing.route(3, 4, 16, 1, "active_2", seed=7).experts, minlength=16)
    assert (few > 0).sum() == 4  # a token's experts differ
    assert "active_<experts>" in routing.refusal("active_0")


def test_the_update_of_a_convolution_continues_the_prompt(prepare: Prepare, close: Close) -> None:
    """Defect: a state that does not move on convolves every token with the end of the prompt."""
    torch = pytest.importorskip("torch")
    prompt = prepare("elementwise", **_elementwise("causal_conv1d", 6, 3)).calls[0]
    update = prepare("elementwise", **_elementwise("causal_conv1d_update", 1, 3)).calls[0]
    _, rows, taps = prompt.args
    with torch.inference_mode():
        state = torch.nn.functional.pad(rows[:4].T, (0, 0)).unsqueeze(0).contiguous()
        tokens = [update.func(torch, rows[t].view(1, 3, 1), state, taps) for t in (4, 5)]
        close(torch.cat(tokens, dim=-1), prompt()[:, :, 4:], "fp32")
        assert torch.equal(state[0], rows[2:6].T)


def test_the_gated_norm_normalises_each_head_and_gates_it(prepare: Prepare, close: Close) -> None:
    """Defect: a norm over the whole row, or a product alone, is a fraction of the launches."""
    torch = pytest.importorskip("torch")
    call = prepare("elementwise", **_elementwise("gated_norm", 5, 2 * 128, inputs=2)).calls[0]
    _, rows, gate, weight = call.args
    assert (rows.shape, gate.shape, weight.shape) == ((10, 128), (10, 128), (128,))
    normed = torch.nn.functional.rms_norm(rows, (128,), weight, 1e-6)
    close(call(), normed * torch.nn.functional.silu(gate), "fp32")


def test_the_gates_of_a_delta_rule_are_a_strength_and_a_decay(prepare: Prepare) -> None:
    """Defect: one multiplication in place of a softplus, an exponential and a sigmoid of each head."""
    call = prepare("elementwise", **_elementwise("delta_gates", 5, 2 * 4)).calls[0]
    strength, decay = call()
    assert (strength.shape, decay.shape) == ((5, 4), (5, 4))
    assert bool(((strength > 0) & (strength < 1)).all()), "a sigmoid"
    assert bool((decay < 0).all()), "the logarithm of a decay"


def test_one_gate_may_stand_for_a_whole_row(prepare: Prepare, close: Close) -> None:
    """Defect: the scale of a shared expert cannot be measured, so the layer's sum misses it."""
    call = prepare("elementwise", **_elementwise("sigmoid_mul", 5, 128, inputs=1 + 1 / 128)).calls[0]
    _, gate, rows = call.args
    assert (gate.shape, rows.shape) == ((5, 1), (5, 128))
    close(call(), gate.sigmoid() * rows, "fp32")
