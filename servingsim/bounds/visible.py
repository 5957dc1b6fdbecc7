"""Which keys causal attention needs: pairs of a query and a key, and the keys that a step finds in the cache.

Positions count from 0; the query at position p sees p + 1 keys, its own included, cut by a window that slides
(the last `window` keys), by a chunk that starts anew (the keys since the last multiple of it), or by a selection
(the best so many, wherever they are: as many as a window of that width).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Prefill = tuple[int, int, bool]
"""q_len, prefix_len, whether the last position is sampled."""


@dataclass(frozen=True)
class Sight:
    """How far back a query sees; width 0 is everything.

    Attributes:
        width: Keys of the window, the chunk or the selection.
        chunked: It starts anew at every multiple of the width.
    """

    width: int = 0
    chunked: bool = False

    def visible(self, keys: int) -> int:
        """Keys that the last of so many positions sees."""
        if not self.width:
            return keys
        return (keys - 1) % self.width + 1 if self.chunked else min(keys, self.width)

    def seen(self, length: int) -> float:
        """Keys that the first `length` positions of a sequence see, summed."""
        if self.width and self.chunked:
            whole, rest = divmod(length, self.width)
            return whole * _triangle(self.width) + _triangle(rest)
        ramp = min(length, self.width) if self.width else length
        return _triangle(ramp) + (length - ramp) * self.width

    def prefill_pairs(self, prefill: Sequence[Prefill]) -> float:
        """Pairs of a query and a key that it sees, of the new tokens of chunks."""
        return sum(self.seen(prefix + q) - self.seen(prefix) for q, prefix, _ in prefill)

    def decode_pairs(self, decode: Sequence[int]) -> float:
        """Pairs of one query a request; KV lengths include the new token."""
        return float(sum(self.visible(kv_len) for kv_len in decode))

    def prefill_cached(self, prefill: Sequence[Prefill]) -> int:
        """Cached keys that the first new token of each chunk sees: the others' are among them, or new."""
        return sum(self.visible(prefix + 1) - 1 for _, prefix, _ in prefill)

    def decode_cached(self, decode: Sequence[int]) -> int:
        """Cached keys that a decode step sees; the new one is on chip."""
        return sum(self.visible(kv_len) - 1 for kv_len in decode)


def _triangle(length: int) -> float:
    return length * (length + 1) / 2
