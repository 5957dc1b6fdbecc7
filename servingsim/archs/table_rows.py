"""A decision table as plain data: each row one kernel of a forward pass, on one rank, as the tree will hold it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.source import ArgValue

OUTSIDE = "outside"
"""Layer class of what runs once an iteration: embedding, final norm, lm_head."""


@dataclass(frozen=True)
class TableRow:
    """One launch.

    Attributes:
        op: Name within its layer class: section and operation, `attention.qkv_proj`.
        layer_class: Whose layers, or `outside`.
        repeat: Layers of that class, 1 outside.
        kind: Kernel kind that prices it.
        args: The args fields that the model fixes, per rank; all of the kind's but its axes.
        slot_input: Name of the slot input, from the closed set.
        width: Multiplies the slot input's count (heads of a per-head norm, bytes of a token's message).
        launches: Identical launches in a row.
        hosts: Operations that its epilogue really fuses.
    """

    op: str
    layer_class: str
    repeat: int
    kind: str
    args: Mapping[str, ArgValue] = field(hash=False)
    slot_input: str
    width: float = 1.0
    launches: int = 1
    hosts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Path in the model: `layers.attention.qkv_proj`, `head.lm_head`."""
        return self.op if self.layer_class == OUTSIDE else f"{self.layer_class}.{self.op}"

    @property
    def section(self) -> str:
        """Part of the layer that it belongs to: what stands before the first dot."""
        return self.op.partition(".")[0]


@dataclass(frozen=True)
class LeftOut:
    """A row that no kernel kind prices yet.

    Attributes:
        name: Path in the model.
        kind: The kind that has to be wired for it.
        reason: Why none of the existing kinds stands for it.
    """

    name: str
    kind: str
    reason: str
