"""How long work tells how far it is, and learns that nobody waits for it any more."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """What a tool reports to while it runs."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        """How far the work is. `done` only grows; the message is one short line."""
        ...

    def check(self) -> None:
        """Raise ServingSimError E_CANCELLED where the caller has gone; to be asked every second or so."""
        ...


class Unwatched:
    """For callers that neither look nor cancel."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Nobody looks."""

    def check(self) -> None:
        """Nobody cancels."""
