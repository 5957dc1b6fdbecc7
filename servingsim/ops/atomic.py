"""The atomic op: one kernel, one slot.

Where an op's input maps 1:1 to one kernel input nothing is written in `ops/`: the build site names one
`Op` (INV-2.5-1). A collective that parallelism introduces is such an op of its own, never part of another
(INV-6.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.ops.pricing import described, push_priced
from servingsim.timing.cost_tree import CostNode, CostTreeBuilder, Evaluator, Scale
from servingsim.timing.slot_inputs import SlotInput, code_of, coordinates

if TYPE_CHECKING:
    from servingsim.timing.batch import Batches
    from servingsim.timing.engine import Kernel


@dataclass(frozen=True)
class Op:
    """One kernel of the forward pass.

    Attributes:
        name: Path in the model, `layers.attention.qkv_proj`.
        kernel: What is launched.
        slot_input: How a batch becomes the kernel's coordinates, from the closed set.
        width: Multiplies the slot input's count (heads of a per-head norm, bytes of a token's message).
        launches: Identical launches in a row (K and V that are appended one after the other).
        hosts: Operations that this kernel's epilogue really fuses: their verdict is `fold`, it is their host.
    """

    name: str
    kernel: Kernel
    slot_input: SlotInput
    width: float = 1.0
    launches: int = 1
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        code_of(self.slot_input)
        asked, axes = self.slot_input.axes, self.kernel.kind.axes
        if asked != axes and not (asked == ("count",) and len(axes) == 1):
            raise ServingSimError(
                f"{self.name}: slot input {self.slot_input.name!r} gives {asked}, the kernel has axes {axes}",
                hint="choose the slot input whose coordinates are the kernel's axes",
            )

    def compile(self, builder: CostTreeBuilder) -> CostNode:
        """One leaf, under a Scale where it is launched several times."""
        folded = "".join(f" fold({name})" for name in self.hosts)
        text = f"{described(self.kernel)} at {self.slot_input.name}{folded}"
        leaf = builder.leaf(self.name, self.kernel.kind.kind, text)
        return leaf if self.launches == 1 else Scale(self.launches, leaf)

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Fill the one slot."""
        push_priced(ev, self.name, self.kernel, coordinates(self.slot_input, batches, self.width))
