"""How many copies of its operands a launch rotates through, so that it finds none of them in a cache.

In a forward pass hundreds of other weights stream through the cache between two uses of one: measured with
warm operands, a decode step comes out at half its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.contract import Setting

CACHES = 2
"""Copies together are larger than so many last-level caches: an LRU of one cache then holds none of them."""
MIN_COPIES = 3
"""Even of operands that are larger than the cache: the end of one may still lie in it."""
MAX_ROTATED_BYTES = 1_500_000_000
MAX_COPIES = 16384
"""Beyond it the callables themselves take more memory than the operands."""
ASSUMED_CACHE_BYTES = 32 * 2**20
"""Where the size of the last-level cache is not known."""


def copies(
    setting: Setting, *, operand_bytes: float, result_bytes: float = 0.0, shared_bytes: float = 0.0
) -> int:
    """Copies of the operands to allocate, at least one.

    Args:
        setting: Where the launch runs.
        operand_bytes: One copy of what rotates.
        result_bytes: What one launch allocates while it runs.
        shared_bytes: What all copies use together, a mask for instance.

    Raises:
        ServingSimError: E_LIMIT, when not even one copy fits the free memory. Nothing is allocated by then.
    """
    require(setting, operand_bytes + result_bytes + shared_bytes)
    cache_bytes = setting.last_level_cache_bytes or ASSUMED_CACHE_BYTES
    wanted = max(MIN_COPIES, int(CACHES * cache_bytes // operand_bytes) + 1)
    spare_bytes = (setting.free_memory_bytes - result_bytes - shared_bytes) / 2
    affordable = int(min(MAX_ROTATED_BYTES, spare_bytes) // operand_bytes)
    return max(1, min(wanted, affordable, MAX_COPIES))


def require(setting: Setting, needed_bytes: float) -> None:
    """Refuse what does not fit.

    Raises:
        ServingSimError: E_LIMIT, when more is needed than is free.
    """
    if needed_bytes > setting.free_memory_bytes:
        raise ServingSimError(
            f"this shape takes {_gib(needed_bytes)} of memory for its operands and results",
            code="E_LIMIT",
            known=f"{_gib(setting.free_memory_bytes)} are free",
            hint="measure a smaller shape, or on a device with more memory",
        )


def _gib(size_bytes: float) -> str:
    return f"{size_bytes / 2**30:.3g} GiB"
