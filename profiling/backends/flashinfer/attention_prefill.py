"""`attention_prefill` with FlashInfer's `BatchPrefillWithPagedKVCacheWrapper`.

Causal, with the queries as the last of the keys, which is what FlashInfer means by causal. Planned once, as
an engine plans once for all layers of a step; the plan is not timed.
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


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    batch_size: int,
    q_len: int,
    prefix_len: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: Dtype,
    kv_dtype: Dtype,
    window_size: int,
) -> Launch:
    """Rotate queries and caches, each laid out by the same page table."""
    kv_len = prefix_len + q_len
    shape = paged_cache.cache_shape(batch_size, kv_len, num_kv_heads, head_dim)
    query_bytes = batch_size * q_len * num_heads * head_dim * dtype_bytes(dtype)
    count = rotation.copies(
        setting,
        operand_bytes=query_bytes + prod(shape) * dtype_bytes(kv_dtype),
        result_bytes=query_bytes,
        shared_bytes=paged_cache.WORKSPACE_BYTES,
    )
    tensors, cached = Tensors.on(setting, dtype), Tensors.on(setting, kv_dtype)
    wrapper = importlib.import_module("flashinfer").BatchPrefillWithPagedKVCacheWrapper(
        paged_cache.workspace(tensors), "NHD"
    )
    table = paged_cache.PageTable.of(tensors, batch_size, kv_len)
    first_query = tensors.torch.arange(batch_size + 1, dtype=tensors.torch.int32, device=tensors.device)
    wrapper.plan(
        first_query * q_len,
        table.indptr,
        table.indices,
        table.last_page_len,
        num_heads,
        num_kv_heads,
        head_dim,
        paged_cache.PAGE_SIZE,
        causal=True,
        window_left=paged_cache.window_left(window_size),
        q_data_type=tensors.dtype,
        kv_data_type=cached.dtype,
    )
    operands = zip(
        tensors.copies(count, batch_size * q_len, num_heads, head_dim),
        cached.copies(count, *shape),
        strict=True,
    )
    return tensors.launch(partial(wrapper.run, q, cache) for q, cache in operands)


def supports(
    *, num_heads: int, num_kv_heads: int, head_dim: int, dtype: str, kv_dtype: str, **_sizes: int
) -> str:
    """Whole groups of heads, and operands that the kernels are compiled for."""
    return attention_shapes.refusal(num_heads, num_kv_heads) or paged_cache.refusal(head_dim, dtype, kv_dtype)


BACKEND = Backend(
    name="flashinfer",
    kind="attention_prefill",
    devices=("cuda",),
    compute_dtypes=("bf16", "fp16"),
    kv_dtypes=("bf16", "fp16", "fp8"),
    prepare=prepare,
    requires=("torch", "flashinfer"),
    supports=supports,
)
