"""Attention of the backend torch against a reference that writes the softmax out."""

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

HEADS: dict[str, int | str] = {"num_heads": 4, "num_kv_heads": 2, "head_dim": 8}


def _reference(query: Tensor, key: Tensor, value: Tensor, window_size: int = 0) -> Tensor:
    """Causal attention [batch, heads, queries, dim], the queries being the last of the keys."""
    torch = pytest.importorskip("torch")
    groups = query.shape[1] // key.shape[1]
    key, value = (x.float().repeat_interleave(groups, dim=1) for x in (key, value))
    scores = query.float() @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    own = torch.arange(key.shape[2] - query.shape[2], key.shape[2]).unsqueeze(1)
    places = torch.arange(key.shape[2])
    hidden = (places > own) | ((places <= own - window_size) if window_size else (places < 0))
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ value


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize(("q_len", "prefix_len"), [(6, 0), (4, 5), (1, 7), (1, 0)])
@pytest.mark.parametrize("window_size", [0, 3, 64])
def test_prefill_sees_the_prefix_and_itself(
    prepare: Prepare, close: Close, dtype: str, q_len: int, prefix_len: int, window_size: int
) -> None:
    """`is_causal` with a prefix masks by the top left corner: the new tokens then see almost nothing."""
    call = prepare(
        "attention_prefill",
        batch_size=2,
        q_len=q_len,
        prefix_len=prefix_len,
        dtype=dtype,
        kv_dtype=dtype,
        window_size=window_size,
        **HEADS,
    ).calls[0]
    query, key, value = call.args
    close(call(), _reference(query, key, value, window_size), dtype)


def test_prefill_after_a_prefix_is_the_tail_of_a_whole_prefill(prepare: Prepare, close: Close) -> None:
    """A chunked prefill that computes another answer than the unchunked one is another kernel."""
    sizes = {**HEADS, "batch_size": 1, "dtype": "fp32", "kv_dtype": "fp32", "window_size": 0}
    whole = prepare("attention_prefill", q_len=12, prefix_len=0, **sizes).calls[0]
    query, key, value = whole.args
    tail = prepare("attention_prefill", q_len=5, prefix_len=7, **sizes).calls[0]
    close(tail.func(query[:, :, 7:], key, value, **tail.keywords), whole()[:, :, 7:], "fp32")


def test_prefill_operands_lie_as_a_forward_hands_them_over(prepare: Prepare) -> None:
    """Contiguous queries run through another path than the transposed view of a projection."""
    query, key, value = (
        prepare(
            "attention_prefill",
            batch_size=2,
            q_len=6,
            prefix_len=3,
            dtype="bf16",
            kv_dtype="bf16",
            window_size=0,
            **HEADS,
        )
        .calls[0]
        .args
    )
    assert (query.shape, query.stride()) == ((2, 4, 6, 8), (6 * 4 * 8, 8, 4 * 8, 1))
    assert key.shape == value.shape == (2, 2, 9, 8)
    assert key.is_contiguous()
    assert value.is_contiguous()


@pytest.mark.parametrize(("kv_len", "window_size"), [(9, 0), (9, 4), (3, 4), (1, 0)])
def test_decode_sees_every_key_of_its_window(
    prepare: Prepare, close: Close, kv_len: int, window_size: int
) -> None:
    """A causal flag with one query would let it see the first key only."""
    call = prepare(
        "attention_decode",
        batch_size=3,
        kv_len=kv_len,
        dtype="fp32",
        kv_dtype="fp32",
        window_size=window_size,
        **HEADS,
    ).calls[0]
    query, key, value = call.args
    assert key.shape[2] == (min(kv_len, window_size) if window_size else kv_len)
    close(call(), _reference(query, key, value), "fp32")


def test_heads_that_do_not_share_keys_evenly_are_refused() -> None:
    """Otherwise torch raises in the middle of a run, after the operands are allocated."""
    for kind in ("attention_prefill", "attention_decode"):
        supports = backends()[kind, "torch"].supports
        reason = supports(num_heads=6, num_kv_heads=4, head_dim=8, dtype="bf16", kv_dtype="bf16")
        assert "num_heads 6 is no multiple of num_kv_heads 4" in reason
        assert "one dtype" in supports(num_heads=4, num_kv_heads=4, head_dim=8, dtype="bf16", kv_dtype="fp8")
