"""Which of a batch's columns a slot input reads, found by letting it read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skills.compose_op.synthetic import batch_of

if TYPE_CHECKING:
    from servingsim.timing.slot_inputs import SlotInput


class _Watched:
    """A batch's rows that remember which columns were asked for."""

    def __init__(self) -> None:
        self._rows = batch_of(7).rows
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a column
        self.seen.add(name)
        return getattr(self._rows, name)


def columns_of(slot_input: SlotInput) -> list[str]:
    """The op-level input fields behind a slot input, sorted."""
    rows: Any = _Watched()
    slot_input.fill(rows, 1.0, np.zeros((8, len(slot_input.axes))), np.zeros(8))
    return sorted(rows.seen)
