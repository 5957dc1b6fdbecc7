"""Field types of kernel Configs and Inputs: whole numbers with the largest value that still makes sense.

The limits refuse slips (bytes for elements, a product for a factor) and bound every sweep grid; each lies
well above anything that is served today. Whole numbers are strict: `"128"`, `128.0` and `true` are none.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from servingsim.timing.work.amount import dtype_bytes

Width = Annotated[int, Field(strict=True, ge=1, le=2**24)]
"""A model dimension in elements (the largest vocabularies have 2**18)."""
Heads = Annotated[int, Field(strict=True, ge=1, le=2**12)]
HeadDim = Annotated[int, Field(strict=True, ge=1, le=2**12)]
LatentWidth = Annotated[int, Field(strict=True, ge=1, le=2**14)]
"""A latent of all keys and values of a token (512 in the models that have one)."""
StateWidth = Annotated[int, Field(strict=True, ge=1, le=2**12)]
"""State elements for each channel of a recurrent layer (64 to 256)."""
Experts = Annotated[int, Field(strict=True, ge=1, le=2**12)]
Ranks = Annotated[int, Field(strict=True, ge=1, le=2**14)]
RanksOfGroup = Annotated[int, Field(strict=True, ge=2, le=2**14)]
"""Ranks of a collective: one alone communicates with nobody."""
Tokens = Annotated[int, Field(strict=True, ge=1, le=2**20)]
"""Tokens that one iteration computes (chunked prefill budgets are 2**11 to 2**15)."""
Rows = Annotated[int, Field(strict=True, ge=1, le=2**27)]
"""Rows of a kernel that sees a token several times over, once for each head or chosen expert."""
Requests = Annotated[int, Field(strict=True, ge=1, le=2**13)]
"""Requests in one iteration."""
Context = Annotated[int, Field(strict=True, ge=1, le=2**24)]
"""Tokens of one request: prefix and new ones (the longest context on offer is about 10**7)."""
Prefix = Annotated[int, Field(strict=True, ge=0, le=2**24)]
Window = Annotated[int, Field(strict=True, ge=0, le=2**24)]
"""Keys that a query sees, itself included; 0 where attention is not windowed."""
KvTokens = Annotated[int, Field(strict=True, ge=1, le=2**32)]
"""Keys of all requests of an iteration together."""
MessageBytes = Annotated[int, Field(strict=True, ge=1, le=2**36)]
TokenBytes = Annotated[int, Field(strict=True, ge=1, le=2**26)]
"""Bytes for each token on one side of an elementwise operation."""
ElementwiseOp = Literal[
    "copy",
    "add",
    "mul",
    "silu",
    "silu_mul",
    "rope",
    "cat",
    "embedding",
    "gelu_mul",
    "sigmoid_mul",
    "relu2",
    "causal_conv1d",
    "causal_conv1d_update",
    "gated_norm",
    "delta_gates",
]
"""The callable that an elementwise row measures; its bytes are given beside it."""
Distribution = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]{0,63}$")]
"""How tokens spread over experts, as the rows name it: `balanced`, `power_law_1.2`, ..."""

MAX_WEIGHT_BYTES = 2**40
"""No device holds a weight of 1 TiB."""


def whole_groups(num_heads: int, num_kv_heads: int) -> None:
    """Grouped-query attention shares each KV head between a whole number of query heads.

    Raises:
        ValueError: With both numbers, for pydantic.
    """
    if num_heads % num_kv_heads:
        raise ValueError(f"num_heads {num_heads} is no multiple of num_kv_heads {num_kv_heads}")


def topk_fits(topk: int, num_experts: int) -> None:
    """A token goes to different experts.

    Raises:
        ValueError: With both numbers, for pydantic.
    """
    if topk > num_experts:
        raise ValueError(f"topk {topk} exceeds num_experts {num_experts}")


def whole_elements(message_bytes: int, dtype: str) -> None:
    """A message holds whole elements.

    Raises:
        ValueError: With the element's size, for pydantic.
    """
    if message_bytes % dtype_bytes(dtype):
        raise ValueError(f"message of {message_bytes} bytes is no whole number of {dtype} elements")


def weight_fits(elements: int, dtype: str, sizes: str) -> None:
    """A weight that no device can hold is a slip in one of its sizes.

    Raises:
        ValueError: With the sizes and the bytes, for pydantic.
    """
    weight_bytes = elements * dtype_bytes(dtype)
    if weight_bytes > MAX_WEIGHT_BYTES:
        raise ValueError(f"{sizes} make a weight of {weight_bytes:.3g} bytes, at most {MAX_WEIGHT_BYTES:.3g}")
