"""`elementwise` op rope as the eager forward of Hugging Face's Llama and Qwen models computes it.

Formula of `apply_rotary_pos_emb` in Transformers 5: x·cos + rotate_half(x)·sin for the queries and for the
keys, on views [1, heads, tokens, head_dim] of what the projections wrote as [1, tokens, heads, head_dim].

The spec gives the width of queries and keys together. Their split is not among its fields, so the heads are
halved (queries get the odd one): launches and bytes are right for any split. Head size: 128 where it divides
the width, else 64.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import elementwise_shapes as shapes
from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

TEMPORARIES = 5
"""Rows that the formula allocates for each row of its result, itself included."""


def prepare(
    setting: Setting,
    *,
    num_tokens: int,
    op: str,
    input_bytes_per_token: int,
    output_bytes_per_token: int,
    dtype: Dtype,
) -> Launch:
    """Rotate queries and keys; cosines and sines are one pair, as all layers of a forward share them."""
    del op
    count = rotation.copies(
        setting,
        operand_bytes=num_tokens * input_bytes_per_token,
        result_bytes=num_tokens * output_bytes_per_token * TEMPORARIES,
    )
    tensors = Tensors.on(setting, dtype)
    width = shapes.elements(output_bytes_per_token, dtype)
    dim = shapes.head_dim(width)
    key_heads = width // dim // 2
    cos, sin = tensors.copies(2, 1, num_tokens, dim)
    apply = partial(apply_rotary, tensors.torch.cat)
    queries = _rotated(tensors, count, num_tokens, width // dim - key_heads, dim)
    if not key_heads:
        return tensors.launch(partial(apply, cos, sin, q) for q in queries)
    keys = _rotated(tensors, count, num_tokens, key_heads, dim)
    return tensors.launch(partial(apply, cos, sin, q, k) for q, k in zip(queries, keys, strict=True))


def apply_rotary(cat: Callable[..., Any], cos: Tensor, sin: Tensor, *rotated: Tensor) -> tuple[Tensor, ...]:
    """Rotate [1, heads, tokens, head_dim] by cos and sin [1, tokens, head_dim]; `cat` is `torch.cat`."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return tuple((x * cos) + (_rotate_half(cat, x) * sin) for x in rotated)


def _rotate_half(cat: Callable[..., Any], x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return cat((-x[..., half:], x[..., :half]), dim=-1)


def _rotated(tensors: Tensors, count: int, tokens: int, heads: int, dim: int) -> tuple[Tensor, ...]:
    return tuple(x.transpose(1, 2) for x in tensors.copies(count, 1, tokens, heads, dim))


def supports(
    *, num_tokens: int, op: str, input_bytes_per_token: int, output_bytes_per_token: int, dtype: Dtype
) -> str:
    """Only rope, in sizes that make sense for it."""
    del num_tokens
    if op != "rope":
        return f"Transformers has no formula of its own for {op}: use the backend torch"
    return shapes.refusal(op, input_bytes_per_token, output_bytes_per_token, dtype)


BACKEND = Backend(
    name="transformers",
    kind="elementwise",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
