"""How large an iteration may get: the domain that kernels are measured over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.timing.batch import Batch

MAX_KV_TOKENS = 2**22
"""Keys of one iteration that a grid covers by itself; more than a device of 140 GB caches of small models."""


@dataclass(frozen=True)
class IterationBounds:
    """The scheduler's limits.

    Attributes:
        max_num_tokens: New tokens of an iteration.
        max_num_seqs: Requests of an iteration.
        max_model_len: Tokens of the longest request.
    """

    max_num_tokens: int
    max_num_seqs: int
    max_model_len: int

    @property
    def max_kv_tokens(self) -> int:
        """Keys of all requests of an iteration."""
        return min(self.max_num_seqs * self.max_model_len, max(MAX_KV_TOKENS, self.max_model_len))

    def refuse_beyond(self, batch: Batch) -> None:
        """A batch that the scheduler would never form is refused with both numbers."""
        for value, most, name in (
            (batch.num_tokens, self.max_num_tokens, "max_num_tokens"),
            (batch.num_requests, self.max_num_seqs, "max_num_seqs"),
            (batch.longest_context, self.max_model_len, "max_model_len"),
        ):
            if value > most:
                raise ServingSimError(
                    f"the batch needs {name} {value}",
                    code="E_LIMIT",
                    known=f"{name} is {most}",
                    hint=f"shrink the batch, or raise --{name.replace('_', '-')}",
                )
