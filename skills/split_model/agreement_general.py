"""Step 8, the figures, of any decoder: the table's work beside an accountant that does not look at it.

Figures agree but for rounding, or differ by what is known to differ, with its amount (`named_differences`). Where one
does neither, it is given for each layer class as well, so that the row is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from servingsim.bounds.general import necessary_work
from servingsim.bounds.tally import GeneralWork, Step
from servingsim.sim.necessary_general import Deployment, plain_model
from skills.split_model.found_figures import beyond_facts
from skills.split_model.named_differences import named_differences
from skills.split_model.row_figures import row_figures
from skills.split_model.row_work import launched
from skills.split_model.schema import OUTSIDE, Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.bounds.sizes import GeneralModel as PlainModel
    from skills.split_model.draft import Draft
    from skills.split_model.general import GeneralModel
    from skills.split_model.row_figures import Figures
    from skills.split_model.schema import PhaseShape

ROUNDING = 1e-6
"""Relative. A router is less than a hundredth of a layer: a wider tolerance would not see that it is missing."""

APPENDS_TOO = ".rope_append"


def agreement_general(
    model: GeneralModel, drafts: Sequence[Draft], phases: Sequence[PhaseShape]
) -> list[Agreement]:
    """Every figure of every phase.

    Args:
        model: What is split.
        drafts: The table of one rank.
        phases: What is asked about.
    """
    plain = plain_model(model.facts, deployment_of(model))
    return [_of_phase(_Sides(model, plain, drafts, phase)) for phase in phases]


def deployment_of(model: GeneralModel) -> Deployment:
    """How the stack serves it, as far as necessary work depends on it."""
    rank = model.rank
    absorbs = "absorb" in model.catalogue.merges
    return Deployment(tp=rank.tp, ep=rank.ep, kv_dtype=rank.kv_dtype, absorbs=absorbs)


def step_of(phase: PhaseShape) -> Step:
    """The iteration that a phase stands for."""
    if phase.phase == "decode":
        return Step((), (phase.context + 1,) * phase.batch)
    return Step(((phase.q_len, phase.context, True),) * phase.batch, ())


@dataclass(frozen=True)
class _Sides:
    """Both counts of one phase.

    Attributes:
        model: What is split.
        plain: The same as the accountant takes it.
        drafts: The table.
        phase: What is computed.
    """

    model: GeneralModel
    plain: PlainModel
    drafts: Sequence[Draft]
    phase: PhaseShape

    @cached_property
    def launched(self) -> list[Draft]:
        """Rows that are launched."""
        return [draft for draft in self.drafts if launched(draft, self.phase)]

    @cached_property
    def work(self) -> GeneralWork:
        """What the accountant counts."""
        step = step_of(self.phase)
        return necessary_work(self.plain, step.prefill, step.decode)

    @cached_property
    def classes(self) -> list[str]:
        """Layer classes, and what is outside the loop."""
        return list(dict.fromkeys(draft.layer_class for draft in self.drafts))

    def table(self, classes: Sequence[str]) -> Figures:
        """The table's figures of some layer classes."""
        total: Figures = {}
        for draft in self.launched:
            if draft.layer_class in classes:
                for name, value in row_figures(draft, self.phase).items():
                    total[name] = total.get(name, 0.0) + value
        return total

    def accountant(self, classes: Sequence[str]) -> Figures:
        """The accountant's figures of some layer classes."""
        found = {name: self.work.of_class("" if name == OUTSIDE else name) for name in classes}
        whole = GeneralWork(tuple(part for work in found.values() for part in work.parts))
        appended = sum(found[name].written_bytes("attention") for name in classes if self._appends(name))
        return figures_of(whole) | {"kv_append_bytes": appended * self._copies}

    def _appends(self, layer_class: str) -> bool:
        """Whether a launch of its own appends to the cache: none that also rotates, nor another row's epilogue."""
        return not any(
            row.op.endswith(APPENDS_TOO) or (row.family == "kv_append" and row.verdict == "fold")
            for row in self.drafts
            if row.layer_class == layer_class
        )

    @property
    def _copies(self) -> float:
        """Tokens that an append writes for each new one: a cache that is copied to grow is written whole."""
        whole = self.phase.q_len + self.phase.context
        return 1.0 if self.model.catalogue.kv_append == "copy" else whole / self.phase.q_len


def figures_of(work: GeneralWork) -> Figures:
    """What a table is compared with. New keys are on chip for the accountant; a kernel finds them in the cache."""
    return {
        "gemm_flops": work.flops_of("gemm"),
        "expert_flops": work.flops_of("experts"),
        "attention_flops": work.flops_of("attention"),
        "index_flops": work.flops_of("indexer"),
        "scan_flops": work.flops_of("scan"),
        "weight_bytes": work.weight_bytes("gemm", "embedding"),
        "expert_weight_bytes": work.weight_bytes("experts"),
        "kv_read_bytes": work.read_bytes("attention") + work.written_bytes("attention"),
        "index_read_bytes": work.read_bytes("indexer") + work.written_bytes("indexer"),
        "state_bytes": work.read_bytes("scan") + work.written_bytes("scan"),
        "all_reduce_bytes": work.message_bytes,
    }


def _of_phase(sides: _Sides) -> Agreement:
    table, accountant = sides.table(sides.classes), sides.accountant(sides.classes)
    figures = [name for name, value in accountant.items() if value or table.get(name)]
    rank = sides.model.rank
    found = Agreement(
        phase=sides.phase.label,
        tolerance=ROUNDING,
        table={name: table.get(name, 0.0) for name in figures},
        accountant={name: accountant[name] for name in figures},
        trace={},
        named=[
            *named_differences(
                sides.plain, sides.launched, step_of(sides.phase), padded_vocabulary=rank.vocab_size * rank.tp
            ),
            *beyond_facts(sides.launched, sides.phase),
        ],
    )
    return _localised(found, sides) if found.off else found


def _localised(found: Agreement, sides: _Sides) -> Agreement:
    """Figures that are off, once more for each layer class that has them."""
    names = [
        name for name in found.table if any(text.startswith(f"{found.phase} {name}:") for text in found.off)
    ]
    ours, theirs = dict(found.table), dict(found.accountant)
    for layer_class in sides.classes:
        table, accountant = sides.table([layer_class]), sides.accountant([layer_class])
        for name in names:
            if table.get(name) or accountant[name]:
                ours[f"{name} of {layer_class}"] = table.get(name, 0.0)
                theirs[f"{name} of {layer_class}"] = accountant[name]
    return found.model_copy(update={"table": ours, "accountant": theirs})
