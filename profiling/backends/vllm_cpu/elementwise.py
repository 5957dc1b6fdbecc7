"""`elementwise` with vLLM's own: `SiluAndMul`, `rotary_embedding`, the cache write, and the embedding's look-up."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from profiling.backends import elementwise_shapes as shapes
from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.backends.vllm_cpu._cache import BLOCK_TOKENS, attention_isa, paged_cache
from profiling.backends.vllm_cpu._warm import warmed
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

POSITIONS = 4096
"""Rows of the rotary table."""
VOCABULARY = 8192
OPS = ("silu_mul", "rope", "copy", "embedding")


def prepare(
    setting: Setting,
    *,
    num_tokens: int,
    op: str,
    input_bytes_per_token: int,
    output_bytes_per_token: int,
    dtype: Dtype,
) -> Launch:
    """Rotate what is read."""
    size = num_tokens * (input_bytes_per_token + output_bytes_per_token)
    count = rotation.copies(setting, operand_bytes=size, result_bytes=num_tokens * output_bytes_per_token)
    tensors = Tensors.on(setting, dtype)
    width = shapes.elements(output_bytes_per_token, dtype)
    make = {"silu_mul": _silu_mul, "rope": _rope, "copy": _cache_write, "embedding": _embedding}[op]
    return warmed(tensors, make(tensors, count, num_tokens, width))


def _silu_mul(tensors: Tensors, count: int, num_tokens: int, width: int) -> list[Callable[[], Any]]:
    configs = importlib.import_module("vllm.config")
    activations = importlib.import_module("vllm.model_executor.layers.activation")
    with configs.set_current_vllm_config(configs.VllmConfig()):
        activation = activations.SiluAndMul()
    return [partial(activation, rows) for rows in tensors.copies(count, num_tokens, 2 * width)]


def _rope(tensors: Tensors, count: int, num_tokens: int, width: int) -> list[Callable[[], Any]]:
    """Queries and keys are views of one projection; which part of the width is which does not matter to the time."""
    ops = importlib.import_module("vllm._custom_ops")
    head_dim = shapes.head_dim(width)
    table = tensors.normal(POSITIONS, head_dim)
    positions = tensors.torch.arange(num_tokens) % POSITIONS
    split = max(width // head_dim * 2 // 3, 1) * head_dim
    return [
        partial(ops.rotary_embedding, positions, rows[:, :split], rows[:, split:width], head_dim, table, True)
        for rows in tensors.copies(count, num_tokens, width + head_dim)
    ]


def _cache_write(tensors: Tensors, count: int, num_tokens: int, width: int) -> list[Callable[[], Any]]:
    ops = importlib.import_module("vllm._custom_ops")
    head_dim = shapes.head_dim(width // 2)
    heads = width // 2 // head_dim
    isa = attention_isa(tensors, head_dim)
    # One cache for all: each call writes its own tokens of it.
    cache = paged_cache(tensors, -(-count * num_tokens // BLOCK_TOKENS), heads, head_dim)
    places = tensors.torch.arange(count * num_tokens).view(count, num_tokens)
    return [
        partial(ops.cpu_attn_reshape_and_cache, rows[0], rows[1], *cache, slots, isa)
        for rows, slots in zip(tensors.copies(count, 2, num_tokens, heads, head_dim), places, strict=True)
    ]


def _embedding(tensors: Tensors, count: int, num_tokens: int, width: int) -> list[Callable[[], Any]]:
    embedding = tensors.torch.nn.functional.embedding
    table: Tensor = tensors.normal(VOCABULARY, width)
    draws = [tensors.torch.randint(0, VOCABULARY, (num_tokens,)) for _ in range(min(count, 64))]
    return [partial(embedding, ids, table) for ids in draws]


def supports(
    *, op: str, input_bytes_per_token: int, output_bytes_per_token: int, dtype: Dtype, **_sizes: int
) -> str:
    """What vLLM has as a callable of its own."""
    if op not in OPS:
        return f"vLLM has no callable of its own for {op} on a CPU; it has {', '.join(OPS)}"
    width = shapes.elements(output_bytes_per_token, dtype)
    if op == "copy" and (width % 2 or not shapes.head_dim(width // 2)):
        return f"a cache write of {width} elements is no keys and values of whole heads"
    if op == "copy" and dtype_bytes(dtype) != 2:
        return "the cache is written in 16-bit elements"
    return shapes.refusal(op, input_bytes_per_token, output_bytes_per_token, dtype)


BACKEND = Backend(
    name="vllm_cpu",
    kind="elementwise",
    devices=("cpu",),
    compute_dtypes=("bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "vllm"),
    supports=supports,
)
