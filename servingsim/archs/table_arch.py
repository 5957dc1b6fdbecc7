"""A decision table compiled: the rows of a split are the architecture, nobody writes the model a second time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from servingsim.archs.table_parts import model_of
from servingsim.timing.cost_tree import (
    CostNode,
    CostTreeBuilder,
    Evaluator,
    FlatTree,
    Manifest,
    Totals,
    describe,
    flatten,
)
from servingsim.timing.registry import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from servingsim.archs.table_rows import TableRow
    from servingsim.ops.pricing import SlotLog
    from servingsim.timing.batch import Batches
    from servingsim.timing.contract import KernelKind
    from servingsim.worklets.site import BuildSite
    from servingsim.worklets.worklet import Worklet


@dataclass(frozen=True)
class TableArch:
    """The compiled table.

    Attributes:
        rows: What it was built from.
        root: Its worklets.
        tree: The cost tree they compile to.
        flat: The same as flat arrays.
        manifest: Its names.
    """

    rows: tuple[TableRow, ...]
    root: Worklet
    tree: CostNode
    flat: FlatTree
    manifest: Manifest

    @classmethod
    def build(
        cls,
        rows: Iterable[TableRow],
        site: BuildSite,
        *,
        kinds: Mapping[str, KernelKind[Any, Any]] | None = None,
    ) -> Self:
        """Rows to a cost tree: operations, sections, layer classes folded by Scale, compile, flatten.

        Args:
            rows: One rank's rows, in the order of the forward.
            site: Device, stack and limits.
            kinds: Kernel kinds by name; by default all of the package and the workspace.

        Raises:
            ServingSimError: A row that no kind prices as it stands, or a kernel that cannot be built.
        """
        table = tuple(rows)
        root = model_of(table, site, kernels() if kinds is None else kinds)
        builder = CostTreeBuilder()
        tree = root.compile(builder)
        return cls(table, root, tree, flatten(tree), builder.manifest())

    def evaluate(
        self, batches: Batches, *, logging: bool = False, compiled: bool = False
    ) -> tuple[Totals, tuple[SlotLog, ...]]:
        """Price iterations: every node's totals, and each slot's log where asked for."""
        ev = Evaluator(self.flat, self.manifest, len(batches), logging=logging)
        self.root.eval(batches, ev)
        return ev.totals(compiled=compiled), cast("tuple[SlotLog, ...]", tuple(ev.logs))

    def describe(self) -> str:
        """The tree as text."""
        return describe(self.tree, self.manifest)
