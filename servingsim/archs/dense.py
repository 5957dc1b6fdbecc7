"""A dense grouped-query decoder, compiled for one device, stack and tensor-parallel degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

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
from servingsim.worklets.decoder import attention_section, embedding, head, mlp_section
from servingsim.worklets.partition import DecoderShape, partition
from servingsim.worklets.worklet import Worklet

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.ops.pricing import SlotLog
    from servingsim.timing.batch import Batches
    from servingsim.timing.contract import Dtype
    from servingsim.worklets.site import BuildSite


@dataclass(frozen=True)
class DenseArch:
    """The compiled model.

    Attributes:
        facts: What it was built from.
        rank: One rank's part.
        root: Its worklets.
        tree: The cost tree they compile to.
        flat: The same as flat arrays.
        manifest: Its names.
    """

    facts: DenseFacts
    rank: DecoderShape
    root: Worklet
    tree: CostNode
    flat: FlatTree
    manifest: Manifest

    @classmethod
    def build(cls, facts: DenseFacts, site: BuildSite, *, tp: int = 1, kv_dtype: Dtype | None = None) -> Self:
        """Facts to a cost tree: partition, worklets, compile, flatten.

        Raises:
            ServingSimError: tp does not fit the model, or a kernel cannot be built.
        """
        rank = partition(whole_shape(facts, kv_dtype), tp, site.stack)
        root = Worklet("model", (embedding(site, rank), *_layers(facts, site, rank), head(site, rank)))
        builder = CostTreeBuilder()
        tree = root.compile(builder)
        return cls(facts, rank, root, tree, flatten(tree), builder.manifest())

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


def whole_shape(facts: DenseFacts, kv_dtype: Dtype | None = None) -> DecoderShape:
    """The undivided model as worklets see it; the KV cache has the model's dtype unless told otherwise."""
    return DecoderShape(
        hidden_size=facts.hidden_size,
        num_heads=facts.num_heads,
        num_kv_heads=facts.num_kv_heads,
        head_dim=facts.head_dim,
        intermediate_size=facts.intermediate_size,
        vocab_size=facts.vocab_size,
        qk_norm=facts.qk_norm,
        dtype=facts.dtype,
        gemm_dtype=facts.gemm_dtype,
        kv_dtype=kv_dtype or facts.dtype,
    )


def _layers(facts: DenseFacts, site: BuildSite, rank: DecoderShape) -> tuple[Worklet, ...]:
    """One worklet a group of identical layers, folded by Scale."""
    return tuple(
        Worklet(
            group.name,
            (
                attention_section(site, rank, group.name, group.window_size),
                mlp_section(site, rank, group.name),
            ),
            repeat=group.count,
        )
        for group in facts.layer_groups
    )
