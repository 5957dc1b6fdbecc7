"""`attention_decode` with FlashInfer's `BatchDecodeWithPagedKVCacheWrapper`.

Planned once, as an engine plans once for all layers of a step; the plan is not timed. Tensor cores where at
least four query heads share a key head, or where the cache is fp8: the rule of SGLang's FlashInfer backend.
"""

from __future__ import annotations

import importlib
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from profiling.backends import attention_shapes, rotation
from profiling.backends.flashinfer import paged_cache
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting

TENSOR_CORE_GROUP = 4


def prepare(
    setting: Setting,
    *,
    batch_size: int,
    kv_len: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
    window_size: int,
) -> Launch:
    """Rotate queries and caches, each laid out by the same page table."""
    shape = paged_cache.cache_shape(batch_size, kv_len, num_kv_heads, head_dim)
    query_bytes = batch_size * num_heads * head_dim * dtype_bytes(dtype)
    count = rotation.copies(
        setting,
        operand_bytes=query_bytes + prod(shape) * dtype_bytes(kv_dtype),
        result_bytes=query_bytes,
        shared_bytes=paged_cache.WORKSPACE_BYTES,
    )
    tensors, cached = Tensors.on(setting, dtype), Tensors.on(setting, kv_dtype)
    wrapper = importlib.import_module("flashinfer").BatchDecodeWithPagedKVCacheWrapper(
        paged_cache.workspace(tensors),
        "NHD",
        use_tensor_cores=num_heads // num_kv_heads >= TENSOR_CORE_GROUP or kv_dtype == "fp8",
    )
    table = paged_cache.PageTable.of(tensors, batch_size, kv_len)
    wrapper.plan(
        table.indptr,
        table.indices,
        table.last_page_len,
        num_heads,
        num_kv_heads,
        head_dim,
        paged_cache.PAGE_SIZE,
        window_left=paged_cache.window_left(window_size),
        q_data_type=tensors.dtype,
        kv_data_type=cached.dtype,
    )
    operands = zip(
        tensors.copies(count, batch_size, num_heads, head_dim), cached.copies(count, *shape), strict=True
    )
    return tensors.launch(partial(wrapper.run, q, cache) for q, cache in operands)


def supports(
    *, num_heads: int, num_kv_heads: int, head_dim: int, dtype: str, kv_dtype: str, **_sizes: int
) -> str:
    """Whole groups of heads, and operands that the kernels are compiled for."""
    return attention_shapes.refusal(num_heads, num_kv_heads) or paged_cache.refusal(head_dim, dtype, kv_dtype)


BACKEND = Backend(
    name="flashinfer",
    kind="attention_decode",
    devices=("cuda",),
    compute_dtypes=("bf16", "fp16"),
    kv_dtypes=("bf16", "fp16", "fp8"),
    prepare=prepare,
    requires=("torch", "flashinfer"),
    supports=supports,
)
