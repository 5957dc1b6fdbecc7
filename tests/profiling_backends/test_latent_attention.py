"""Latent attention of the backend torch: both forms against a softmax written out, and against each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from profiling.registry import backends

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

LATENT: dict[str, int] = {
    "num_heads": 4,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
}


def _reference(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    torch = pytest.importorskip("torch")
    scores = query.float() @ key.float().transpose(-2, -1) * scale
    own = torch.arange(key.shape[2] - query.shape[2], key.shape[2]).unsqueeze(1)
    return scores.masked_fill(torch.arange(key.shape[2]) > own, -math.inf).softmax(-1) @ value.float()


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize(("q_len", "prefix_len"), [(6, 0), (4, 5), (1, 7)])
def test_prefill_expands_heads_of_unequal_widths(
    prepare: Prepare, close: Close, dtype: str, q_len: int, prefix_len: int
) -> None:
    """Defect: values as wide as keys cost more than the model's; a prefix is masked from the wrong corner."""
    sizes = {"batch_size": 2, "q_len": q_len, "prefix_len": prefix_len, "dtype": dtype, "kv_dtype": dtype}
    call = prepare("mla_prefill", **sizes, **LATENT).calls[0]
    query, key, value = call.args
    assert (query.shape, key.shape) == ((2, 4, q_len, 12), (2, 4, prefix_len + q_len, 12))
    assert value.shape == (2, 4, prefix_len + q_len, 6)
    close(call(), _reference(query, key, value, 1 / math.sqrt(12)), dtype)


def test_decode_absorbed_is_decode_expanded(prepare: Prepare, close: Close) -> None:
    """Defect: a scale of the latent's width, or values that hold the rotated key, would be another function."""
    torch = pytest.importorskip("torch")
    call = prepare("mla_decode", batch_size=2, kv_len=9, dtype="fp32", kv_dtype="fp32", **LATENT).calls[0]
    query, cached, value = call.args
    assert value.data_ptr() == cached.data_ptr()
    assert (cached.shape, value.shape) == ((2, 1, 9, 20), (2, 1, 9, 16))
    source = torch.Generator().manual_seed(1)
    up_key, up_value = (torch.randn(4, width, 16, generator=source) / 4 for width in (8, 6))
    assert query.shape == (2, 1, 4, 20)
    plain, rotated = torch.randn(2, 4, 1, 8, generator=source), query[..., 16:].transpose(1, 2)
    absorbed = torch.cat((torch.einsum("bhqn,hnr->bhqr", plain, up_key), rotated), -1)
    core = call.func(absorbed.transpose(1, 2), cached, value, **call.keywords).transpose(1, 2)
    latent, shared = cached[..., :16], cached[..., 16:].expand(2, 4, 9, 4)
    keys = torch.cat((torch.einsum("bxkr,hnr->bhkn", latent, up_key), shared), -1)
    values = torch.einsum("bxkr,hvr->bhkv", latent, up_value)
    expanded = _reference(torch.cat((plain, rotated), -1), keys, values, 1 / math.sqrt(12))
    close(torch.einsum("bhqr,hvr->bhqv", core, up_value), expanded, "fp32")


def test_a_cache_of_another_dtype_is_refused() -> None:
    """Defect: a row under kv_dtype fp8 that read bf16 latents would halve nothing and be believed."""
    for kind in ("mla_prefill", "mla_decode"):
        reason = backends()[kind, "torch"].supports(dtype="bf16", kv_dtype="fp8", **LATENT)
        assert "takes one dtype" in reason
