"""Elementwise callables of torch and of Transformers against references, and the sizes that they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.registry import backends

if TYPE_CHECKING:
    from collections.abc import Callable

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

ROW = 128
"""Elements of a row in these tests: one head of 128, or two of 64."""


def _spec(op: str, inputs: int = 1, elements: int = ROW, tokens: int = 5) -> dict[str, int | str]:
    row_bytes = 4 * elements
    return {
        "num_tokens": tokens,
        "op": op,
        "input_bytes_per_token": inputs * row_bytes,
        "output_bytes_per_token": row_bytes,
        "dtype": "fp32",
    }


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("copy", 1),
        ("add", 2),
        ("mul", 2),
        ("silu", 1),
        ("silu_mul", 2),
        ("gelu_mul", 2),
        ("sigmoid_mul", 2),
        ("relu2", 1),
    ],
)
def test_flat_ops_compute_what_they_are_called(prepare: Prepare, close: Close, op: str, inputs: int) -> None:
    """A callable under another's name prices every layer of a model wrongly."""
    torch = pytest.importorskip("torch")
    silu = torch.nn.functional.silu
    expected = {
        "copy": lambda x: x,
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
        "silu": silu,
        "silu_mul": lambda gate, up: silu(gate) * up,
        "gelu_mul": lambda gate, up: torch.nn.functional.gelu(gate, approximate="tanh") * up,
        "sigmoid_mul": lambda gate, up: gate.sigmoid() * up,
        "relu2": lambda x: x.clamp(min=0) ** 2,
    }
    call = prepare("elementwise", **_spec(op, inputs)).calls[0]
    operands = [x for x in call.args if torch.is_tensor(x)]
    assert [tuple(x.shape) for x in operands] == [(5, ROW)] * inputs
    result = call()
    close(result, expected[op](*operands), "fp32")
    assert result.data_ptr() not in {x.data_ptr() for x in operands}


def test_cat_appends_one_token_to_a_block_of_keys(prepare: Prepare) -> None:
    """The whole block is copied for each token: a plain copy of one token would be hundreds of times cheaper."""
    torch = pytest.importorskip("torch")
    call = prepare("elementwise", **_spec("cat", elements=3 * 128, tokens=9)).calls[0]
    (block, token), _ = call.args
    assert (block.shape, token.shape) == ((1, 3, 8, 128), (1, 3, 1, 128))
    grown = call()
    assert grown.shape == (1, 3, 9, 128)
    assert torch.equal(grown[:, :, :8], block)
    assert torch.equal(grown[:, :, 8:], token)


def test_cat_of_the_first_token_is_possible(prepare: Prepare) -> None:
    """An empty block must not be refused: the first step of every request has one."""
    assert prepare("elementwise", **_spec("cat", tokens=1)).calls[0]().shape == (1, 1, 1, 128)


def test_embedding_gathers_rows_that_no_other_call_touches(prepare: Prepare) -> None:
    """Shared rows would be warm: every copy after the first would read a cache."""
    torch = pytest.importorskip("torch")
    calls = prepare("elementwise", **_spec("embedding")).calls
    ids = torch.cat([call.args[0] for call in calls])
    assert len(set(ids.tolist())) == len(ids)
    ids, table = calls[0].args
    assert torch.equal(calls[0](), table[ids])


def test_the_short_convolution_looks_back_only(prepare: Prepare, close: Close) -> None:
    """Defect: a centred convolution sees the future, one over channels costs a thousand times as much."""
    torch = pytest.importorskip("torch")
    call = prepare("elementwise", **_spec("causal_conv1d", elements=6)).calls[0]
    _, rows, taps = call.args
    assert (rows.shape, taps.shape) == ((5, 6), (6, 1, 4))
    padded = torch.cat((torch.zeros(3, 6), rows))
    mixed = torch.stack([(padded[t : t + 4] * taps[:, 0].T).sum(0) for t in range(5)])
    close(call(), torch.nn.functional.silu(mixed).T.unsqueeze(0), "fp32")


def test_both_ropes_rotate_by_the_same_angles(prepare: Prepare, close: Close) -> None:
    """The two formulas differ in launches only; a sign or a half swapped would still cost the same and go unseen."""
    torch = pytest.importorskip("torch")
    spec = _spec("rope", elements=3 * 128)
    ours = prepare("elementwise", **spec).calls[0]
    theirs = prepare("elementwise", "transformers", **spec).calls[0]
    torch_module, x, cos, sin = ours.args
    wide = [torch.cat((half, half), dim=-1).transpose(0, 1) for half in (cos, sin)]
    (rotated,) = theirs.func(torch.cat, *wide, x.transpose(0, 1).unsqueeze(0))
    assert torch_module is torch
    close(rotated.squeeze(0).transpose(0, 1), ours(), "fp32")


def test_transformers_rope_rotates_queries_and_keys_of_the_given_width(prepare: Prepare) -> None:
    """One tensor instead of two halves the launches that a layer makes."""
    call = prepare("elementwise", "transformers", **_spec("rope", elements=5 * 64)).calls[0]
    query, key = call.args[-2:]
    assert (query.shape, key.shape) == ((1, 3, 5, 64), (1, 2, 5, 64))
    assert query.stride() == (5 * 3 * 64, 64, 3 * 64, 1)
    assert [x.shape for x in call()] == [query.shape, key.shape]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"op": "add"}, "input_bytes_per_token has to be 1024"),
        ({"op": "silu_mul", "input_bytes_per_token": 1536}, "has to be 1024, not 1536"),
        ({"op": "copy", "input_bytes_per_token": 1024}, "has to be 512"),
        ({"output_bytes_per_token": 511}, "no whole number of fp32 elements"),
        ({"op": "rope", "input_bytes_per_token": 400, "output_bytes_per_token": 400}, "128 or 64 elements"),
    ],
)
def test_sizes_that_an_op_cannot_have_are_refused_with_the_right_ones(
    changes: dict[str, int | str], words: str
) -> None:
    """Guessing a width from impossible bytes would store a row under args that it does not measure."""
    assert words in backends()["elementwise", "torch"].supports(**(_spec("copy") | changes))


def test_transformers_refuses_ops_it_has_no_formula_for() -> None:
    assert "use the backend torch" in backends()["elementwise", "transformers"].supports(**_spec("add", 2))
