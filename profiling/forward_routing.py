"""How many experts a step's tokens really went to: the experts that are hit decide what is read, not their number.

Runs in a worker process only.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPERTS = "experts"
"""Attribute of a layer's sparse block; its second argument is the experts of each token."""


class Routed:
    """Counts experts while it is open."""

    def __init__(self) -> None:
        self._active: list[int] = []

    def clear(self) -> None:
        """Forget what was counted."""
        self._active.clear()

    def active_experts(self) -> float:
        """Mean over the calls of all layers, 0 where none has experts."""
        return sum(self._active) / len(self._active) if self._active else 0.0

    @contextmanager
    def open(self, model: Any) -> Iterator[None]:  # noqa: ANN401 - a torch module
        """Watch every layer's experts."""
        with ExitStack() as stack:
            for path, module in model.named_modules():
                if path.rpartition(".")[2] == EXPERTS:
                    handle = module.register_forward_pre_hook(self._count)
                    stack.callback(handle.remove)
            yield

    def _count(self, _module: Any, args: tuple[Any, ...]) -> None:  # noqa: ANN401 - a torch module
        if len(args) > 1:
            self._active.append(int(args[1].unique().numel()))
