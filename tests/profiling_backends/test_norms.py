"""Norms and rotary embedding against references, and against the model code whose formulas they repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Prepare = Callable[..., Any]
    Close = Callable[..., None]


@pytest.mark.parametrize("backend", ["torch", "transformers"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
def test_rows_are_divided_by_their_root_mean_square(
    prepare: Prepare, close: Close, backend: str, dtype: str
) -> None:
    """A norm over the wrong axis costs about the same and goes unseen in a time."""
    call = prepare("rms_norm", backend, num_tokens=6, hidden_size=32, dtype=dtype).calls[0]
    rows = call.args[0].float()
    weight = next(x for x in call.args[1:] if getattr(x, "shape", None) == (32,) and hasattr(x, "float"))
    expected = rows * (rows.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight.float()
    result = call()
    assert result.dtype == weight.dtype
    close(result, expected, dtype)


@pytest.mark.slow
def test_the_formulas_are_those_of_transformers(prepare: Prepare) -> None:
    """A formula with fewer casts or launches than the model's own would be too fast."""
    torch = pytest.importorskip("torch")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    call = prepare("rms_norm", "transformers", num_tokens=6, hidden_size=32, dtype="bf16").calls[0]
    rows, weight = call.args
    norm = llama.LlamaRMSNorm(32, eps=1e-6)
    norm.weight = torch.nn.Parameter(weight.clone())
    assert torch.equal(call(), norm(rows))
    sizes = {"num_tokens": 5, "input_bytes_per_token": 512, "output_bytes_per_token": 512}
    rope = prepare("elementwise", "transformers", op="rope", dtype="bf16", **sizes).calls[0]
    cos, sin, query, key = rope.args[-4:]
    for ours, theirs in zip(rope(), llama.apply_rotary_pos_emb(query, key, cos, sin), strict=True):
        assert torch.equal(ours, theirs)
