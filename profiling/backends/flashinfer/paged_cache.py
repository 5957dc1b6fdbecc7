"""A paged KV cache as FlashInfer takes it: [pages, 2, page_size, kv_heads, head_dim], layout NHD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from profiling.backends.tensors import Tensors

PAGE_SIZE = 16
"""Tokens a page: what vLLM uses for FlashInfer unless told otherwise."""
WORKSPACE_BYTES = 128 * 2**20
"""What FlashInfer's documentation recommends for its split-k results."""
HEAD_DIMS = (64, 128, 256)


@dataclass(frozen=True)
class PageTable:
    """Where the pages of equal requests lie.

    Attributes:
        indptr: First page of each request in `indices`, [batch + 1].
        indices: Page of each place, [batch * pages], in the scattered order of a cache in use.
        last_page_len: Tokens in each request's last page, [batch].
    """

    indptr: Tensor
    indices: Tensor
    last_page_len: Tensor

    @classmethod
    def of(cls, tensors: Tensors, batch_size: int, kv_len: int) -> PageTable:
        """The table of `batch_size` requests with `kv_len` tokens each."""
        torch, device = tensors.torch, tensors.device
        pages = pages_of(kv_len)
        places = torch.randperm(batch_size * pages, device=device)
        filled = kv_len - (pages - 1) * PAGE_SIZE
        return cls(
            torch.arange(batch_size + 1, dtype=torch.int32, device=device) * pages,
            places.to(torch.int32),
            torch.full((batch_size,), filled, dtype=torch.int32, device=device),
        )


def pages_of(kv_len: int) -> int:
    """Pages of a request."""
    return -(-kv_len // PAGE_SIZE)


def cache_shape(batch_size: int, kv_len: int, num_kv_heads: int, head_dim: int) -> tuple[int, ...]:
    """Shape of the cache of one layer."""
    return (batch_size * pages_of(kv_len), 2, PAGE_SIZE, num_kv_heads, head_dim)


def window_left(window_size: int) -> int:
    """FlashInfer counts the tokens to the left of a query's own, -1 for all of them."""
    return window_size - 1 if window_size else -1


def workspace(tensors: Tensors) -> Tensor:
    """The buffer of a wrapper, zero as its first use wants it."""
    torch = tensors.torch
    return torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=tensors.device)


def refusal(head_dim: int, dtype: str, kv_dtype: str) -> str:
    """Why FlashInfer's kernels do not take these operands, empty where they do."""
    if head_dim not in HEAD_DIMS:
        return f"head_dim {head_dim} is not one of {', '.join(map(str, HEAD_DIMS))}"
    if kv_dtype not in {dtype, "fp8"}:
        return f"queries of {dtype} over a cache of {kv_dtype}: the cache is {dtype} or fp8"
    return ""
