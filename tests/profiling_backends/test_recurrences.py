"""Gated recurrences of the backend torch: chunks against single steps, and against Transformers' own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.backends import recurrence

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

DELTA: dict[str, Any] = {"num_k_heads": 2, "num_v_heads": 4, "k_head_dim": 8, "v_head_dim": 12}
SSM: dict[str, Any] = {"num_heads": 4, "head_dim": 12, "state_size": 8, "num_groups": 2}


def _stepwise(operands: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    torch = pytest.importorskip("torch")
    query, key, value, log_decay, state, beta = operands
    state, results = state.clone(), []
    for token in range(query.shape[1]):
        one = slice(token, token + 1)
        step = None if beta is None else beta[:, one]
        results.append(
            recurrence.one_step(
                torch, query[:, one], key[:, one], value[:, one], log_decay[:, one], state, step
            )
        )
    return torch.cat(results, 1), state


@pytest.mark.parametrize("q_len", [1, 63, 64, 65, 150])
@pytest.mark.parametrize(("kind", "sizes"), [("gated_delta_prefill", DELTA), ("mamba2_prefill", SSM)])
def test_chunks_compute_what_single_steps_do(
    prepare: Prepare, close: Close, kind: str, sizes: dict[str, Any], q_len: int
) -> None:
    """Defect: a chunk that loses the state before it, or counts padding, is a cheaper function than the model's."""
    call = prepare(kind, batch_size=2, q_len=q_len, dtype="fp32", **sizes).calls[0]
    results, state = call()
    expected, final = _stepwise(call.args[1:])
    assert results.shape == (2, q_len, 4, 12)
    close(results, expected, "fp32")
    close(state, final, "fp32")


def test_the_delta_rule_is_transformers_own(prepare: Prepare, close: Close) -> None:
    """Defect: measuring a recurrence that only looks like the models' would price all their linear layers wrongly."""
    pytest.importorskip("torch")
    models = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    call = prepare("gated_delta_prefill", batch_size=2, q_len=70, dtype="fp32", **DELTA).calls[0]
    query, key, value, log_decay, state, beta = call.args[1:]
    theirs, final = models.torch_chunk_gated_delta_rule(
        query, key, value, g=log_decay, beta=beta, initial_state=state, output_final_state=True
    )
    results, ours = call()
    close(
        results, theirs * DELTA["k_head_dim"] ** 0.5, "fp32"
    )  # they scale queries, which we leave to the caller
    close(ours, final, "fp32")


@pytest.mark.parametrize(
    ("kind", "shape"), [("gated_delta_prefill", {"q_len": 70}), ("gated_delta_decode", {})]
)
def test_the_backend_of_transformers_runs_the_same_recurrence(
    prepare: Prepare, close: Close, kind: str, shape: dict[str, int]
) -> None:
    """Defect: operands in another order, or a state left out, would time another function under the model's name."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    theirs = prepare(kind, "transformers", batch_size=2, dtype="fp32", **shape, **DELTA).calls[0]
    query, key, value = (x.clone() for x in theirs.args)
    named = theirs.keywords
    unit = torch.nn.functional.normalize(query, dim=-1) / DELTA["k_head_dim"] ** 0.5
    results, state = recurrence.by_chunks(
        torch, unit, key, value, named["g"], named["initial_state"].clone(), named["beta"]
    )
    expected, final = theirs()
    close(results, expected, "fp32")
    close(state, final, "fp32")


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize(("kind", "sizes"), [("gated_delta_decode", DELTA), ("mamba2_decode", SSM)])
def test_a_step_changes_the_states_it_was_given(
    prepare: Prepare, kind: str, sizes: dict[str, Any], dtype: str
) -> None:
    """Defect: a step that does not write its state back moves half of the bytes that a decode step moves."""
    torch = pytest.importorskip("torch")
    launch = prepare(kind, batch_size=3, dtype=dtype, **sizes)
    call = launch.calls[0]
    value, state = call.args[3], call.args[5]
    before = state.clone()
    with launch.scope():
        result = call()
    assert result.shape == (3, 1, 4, 12)
    assert result.dtype == value.dtype
    assert state.dtype == torch.float32
    assert not torch.equal(state, before)


def test_states_stay_bounded_however_often_a_shape_is_timed(prepare: Prepare) -> None:
    """Defect: states that grow into infinities make later samples run on other numbers than the first."""
    torch = pytest.importorskip("torch")
    launch = prepare("gated_delta_decode", batch_size=1, dtype="fp32", **DELTA)
    with launch.scope():
        for _ in range(500):
            launch.calls[0]()
    assert torch.isfinite(launch.calls[0].args[5]).all()
