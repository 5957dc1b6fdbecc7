"""The domains of attention grids that full, windowed and latent attention have in common, and their masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.timing.contract import Coords


def prefill_fits(coords: Coords, max_num_tokens: int, max_kv_len: int) -> bool:
    """New tokens of one iteration; in all, as many as that and one request of the longest context."""
    batch_size, q_len, prefix_len = coords
    new_tokens, all_tokens = batch_size * q_len, batch_size * (q_len + prefix_len)
    return new_tokens <= max_num_tokens and all_tokens <= max_num_tokens + max_kv_len


def keys_bound(max_kv_tokens: int, max_kv_len: int, max_batch_size: int) -> None:
    """All keys together are no fewer than one longest request's, or one for each request.

    Raises:
        ValueError: With both numbers, for pydantic.
    """
    for name, value in (("max_kv_len", max_kv_len), ("max_batch_size", max_batch_size)):
        if max_kv_tokens < value:
            raise ValueError(f"max_kv_tokens {max_kv_tokens} is below {name} {value}")


def own_keys(total_kv_len: int, batch_size: int) -> None:
    """Every request of a decode step has its new token's key at least.

    Raises:
        ValueError: With both numbers, for pydantic.
    """
    if total_kv_len < batch_size:
        text = f"total_kv_len {total_kv_len} is below batch_size {batch_size}"
        raise ValueError(f"{text}: every request has its new token's key at least")
