"""A row before it is judged: the op, where its math is traced, and how its work follows from a phase."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skills.split_model.schema import OUTSIDE, MapsTo, PhaseShape, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from profiling.model_trace import TracedOp

Family = Literal[
    "gemm", "attention", "norm", "rope", "kv_append", "activation", "pointwise", "embedding", "collective",
    "moe", "routing", "scan", "conv",
]  # fmt: skip
"""What a launch is by its nature: decides which verdicts an op may get and where captured kernels go."""
HEAVY: tuple[Family, ...] = ("gemm", "attention", "moe", "scan", "routing")
"""Bound by more than their bytes per token, so never a placeholder and never an epilogue."""

Counted = Literal[
    "tokens", "sampled", "context", "prefill", "decode", "prefill_tokens", "decode_tokens", "prefill_context",
    "pooled", "gathered",
]  # fmt: skip
"""What a launch grows with: new tokens, sampled positions, keys after the step, requests of one phase; new tokens of
one phase only, or all keys of the prefill requests; new tokens of all replicas whose experts lie together, which they
compute or give to each other."""


@dataclass(frozen=True)
class Cover:
    """Traced operations that belong to a row: all that is said has to hold.

    Attributes:
        modules: Paths below the layer, or from the root outside the loop; empty with a pattern.
        aten: Operations; empty for all.
        functions: Transformers functions that call it; empty for all.
        nth: Which occurrence in its module, None for all.
        phase: `prefill` or `decode`, empty for both.
        pattern: Regular expression of the whole path, for models that name their modules differently.
        without: Operations that are not meant.
        not_functions: Functions whose calls are not meant.
        anchors: Lines of the modelling code; empty for all.
    """

    modules: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    nth: int | None = None
    phase: str = ""
    pattern: str = ""
    without: tuple[str, ...] = ()
    not_functions: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()

    def fits(self, op: TracedOp, nth: int, phase: str) -> bool:
        """Whether an operation is meant."""
        named = re.fullmatch(self.pattern, op.module) if self.pattern else op.module in self.modules
        return (
            bool(named)
            and op.aten not in self.without
            and op.function not in self.not_functions
            and (not self.anchors or op.anchor in self.anchors)
            and (not self.aten or op.aten in self.aten)
            and (not self.functions or op.function in self.functions)
            and (self.nth is None or self.nth == nth)
            and self.phase in {"", phase}
        )


@dataclass(frozen=True)
class Draft:
    """One row.

    Attributes:
        op: Its name, without layer or rank.
        layer_class: Whose layers, or `outside`.
        repeat: Times an iteration.
        family: Its nature.
        math: What it computes.
        verdict: Its home.
        maps_to: What prices it.
        source: Where the stack's launch is written.
        counted: What a launch's size grows with.
        width: Rows, or bytes, for each of them.
        launches: Identical launches in a row.
        covers: Traced operations that are its.
        why: Of a new kernel: why no kind can stand for it.
        placeholder: Of a fold: what would price it if it were a launch of its own.
    """

    op: str
    layer_class: str
    repeat: int
    family: Family
    math: str
    verdict: Verdict
    maps_to: MapsTo
    source: str
    counted: Counted = "tokens"
    width: float = 1.0
    launches: int = 1
    covers: tuple[Cover, ...] = ()
    why: str = ""
    placeholder: MapsTo | None = None

    def count(self, phase: PhaseShape) -> float:
        """Size of one launch in a phase, 0 where it is not launched."""
        if self.counted in {"prefill", "decode"}:
            return float(phase.batch if phase.phase == self.counted else 0)
        only, _, grows = self.counted.rpartition("_")
        if only and only != phase.phase:
            return 0.0
        per_request = {
            "tokens": phase.q_len,
            "pooled": phase.q_len,
            "gathered": phase.q_len,
            "sampled": 1,
            "context": phase.q_len + phase.context,
        }
        return phase.batch * per_request[grows] * self.width


@dataclass(frozen=True)
class Matched:
    """Which rows each cost-bearing operation lies in: `(op, indices of drafts)`."""

    ops: tuple[tuple[TracedOp, tuple[int, ...]], ...]

    def of(self, index: int) -> list[TracedOp]:
        """Operations of a row."""
        return [op for op, rows in self.ops if index in rows]

    @property
    def wrong(self) -> list[tuple[TracedOp, int]]:
        """Operations that lie in no row, or in several."""
        return [(op, len(rows)) for op, rows in self.ops if len(rows) != 1]


def match(
    drafts: Sequence[Draft], ops: Iterable[TracedOp], classes: Sequence[str], phases: Mapping[str, str]
) -> Matched:
    """Find every operation's row.

    Args:
        drafts: The rows.
        ops: Cost-bearing operations, in the order of the trace.
        classes: Layer class of each traced layer.
        phases: `prefill` or `decode` by the phase's label.
    """
    seen: Counter[tuple[str, int, str, str]] = Counter()
    found = []
    for op in ops:
        key = (op.phase, op.layer, op.module, op.aten)
        nth, seen[key] = seen[key], seen[key] + 1
        where = OUTSIDE if op.layer < 0 else classes[op.layer]
        rows = tuple(
            index
            for index, draft in enumerate(drafts)
            if draft.layer_class == where
            and any(cover.fits(op, nth, phases[op.phase]) for cover in draft.covers)
        )
        found.append((op, rows))
    return Matched(tuple(found))
