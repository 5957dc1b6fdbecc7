"""An operation with a launch of its own for prefill and for decode: two kernels under one sum.

Whatever mixes the tokens of a sequence (attention, a recurrence) is one operation whose halves share their state and
differ by how many new tokens a request brings. It sees one rank and no parallel layout (INV-4.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.ops.pricing import described, push_priced
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, Sum
from servingsim.timing.slot_inputs import coordinates

if TYPE_CHECKING:
    from servingsim.ops.atomic import Op
    from servingsim.timing.batch import Batches


@dataclass(frozen=True)
class PhasedOp:
    """A slot for each phase, whatever the batch holds (INV-1).

    Attributes:
        halves: Its kernels, prefill first.
    """

    halves: tuple[Op, ...]

    def __post_init__(self) -> None:
        repeated = [half.name for half in self.halves if half.launches != 1 or half.hosts]
        if repeated:
            raise ServingSimError(
                f"{', '.join(repeated)}: a phase of an operation is one launch and hosts nothing",
                hint="give what is launched more often an op of its own",
            )

    def compile(self, builder: CostTreeBuilder) -> Sum:
        """A leaf a phase."""
        return Sum(
            tuple(
                builder.leaf(each.name, each.kernel.kind.kind, described(each.kernel)) for each in self.halves
            )
        )

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Fill the slots in compile order (INV-2); a fan-out over requests collapses into its slot."""
        for half in self.halves:
            push_priced(ev, half.name, half.kernel, coordinates(half.slot_input, batches, half.width))
