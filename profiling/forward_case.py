"""Which step of a model is timed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ForwardCase:
    """One step: `batch_size` requests, each with `q_len` new tokens after `context_len` cached ones."""

    batch_size: int
    q_len: int
    context_len: int

    @property
    def label(self) -> str:
        """As people say it."""
        if self.q_len == 1 and self.context_len:
            return f"decode batch {self.batch_size}, context {self.context_len}"
        prefix = f" after {self.context_len}" if self.context_len else ""
        return f"prefill {self.q_len}{prefix}" + (f" x{self.batch_size}" if self.batch_size > 1 else "")
