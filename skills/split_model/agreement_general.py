"""Step 8, the figures, of any decoder: the table's work beside an accountant that does not look at it.

Figures agree within the tolerance, or differ by what is known to differ, with its amount (`named_differences`). Where
one does neither, it is given for each layer class as well, so that the row is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.bounds.general import necessary_work
from servingsim.bounds.tally import Step
from servingsim.sim.necessary_general import Deployment, plain_model
from skills.split_model.agreement import TOLERANCE
from skills.split_model.named_differences import named_differences
from skills.split_model.row_figures import row_figures
from skills.split_model.row_work import launched
from skills.split_model.schema import OUTSIDE, Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.bounds.sizes import GeneralModel as PlainModel
    from servingsim.bounds.tally import GeneralWork
    from skills.split_model.draft import Draft
    from skills.split_model.general import GeneralModel
    from skills.split_model.row_figures import Figures
    from skills.split_model.schema import PhaseShape


def agreement_general(
    model: GeneralModel, drafts: Sequence[Draft], phases: Sequence[PhaseShape]
) -> list[Agreement]:
    """Every figure of every phase.

    Args:
        model: What is split.
        drafts: The table of one rank.
        phases: What is asked about.
    """
    served = deployment_of(model)
    plain = plain_model(model.facts, served)
    copies = model.catalogue.kv_append != "copy"
    return [_of_phase(_Sides(plain, drafts, phase, served, copies)) for phase in phases]


def deployment_of(model: GeneralModel) -> Deployment:
    """How the stack serves it, as far as necessary work depends on it."""
    rank = model.rank
    absorbs = "absorb" in model.catalogue.merges
    return Deployment(tp=rank.tp, ep=rank.ep, kv_dtype=rank.kv_dtype, absorbs=absorbs)


@dataclass(frozen=True)
class _Sides:
    """Both counts of one phase.

    Attributes:
        plain: The model as the accountant takes it.
        drafts: The table.
        phase: What is computed.
        served: How the stack serves it.
        copies: The stack copies the cache to append to it.
    """

    plain: PlainModel
    drafts: Sequence[Draft]
    phase: PhaseShape
    served: Deployment
    copies: bool

    @property
    def launched(self) -> list[Draft]:
        """Rows that are launched."""
        return [draft for draft in self.drafts if launched(draft, self.phase)]

    def table(self, layer_class: str | None = None) -> Figures:
        """The table's figures, of one layer class or of all."""
        total: Figures = {}
        for draft in self.launched:
            if layer_class in {None, draft.layer_class}:
                for name, value in row_figures(draft, self.phase, caches_latents=self.served.absorbs).items():
                    total[name] = total.get(name, 0.0) + value
        return total

    def accountant(self, layer_class: str | None = None) -> Figures:
        """The accountant's figures, of one layer class or of all."""
        step = step_of(self.phase)
        found = necessary_work(self.plain, step.prefill, step.decode)
        if layer_class is not None:
            found = found.of_class("" if layer_class == OUTSIDE else layer_class)
        return figures_of(found, self.phase, copies=self.copies)


def step_of(phase: PhaseShape) -> Step:
    """The iteration that a phase stands for."""
    if phase.phase == "decode":
        return Step((), (phase.context + 1,) * phase.batch)
    return Step(((phase.q_len, phase.context, True),) * phase.batch, ())


def figures_of(work: GeneralWork, phase: PhaseShape, *, copies: bool = False) -> Figures:
    """What a table is compared with. New keys are on chip for the accountant; a kernel finds them in the cache."""
    written = work.written_bytes("attention")
    appended = written * (phase.q_len + phase.context) / phase.q_len if copies else written
    return {
        "gemm_flops": work.flops_of("gemm"),
        "expert_flops": work.flops_of("experts"),
        "attention_flops": work.flops_of("attention"),
        "index_flops": work.flops_of("indexer"),
        "scan_flops": work.flops_of("scan"),
        "weight_bytes": work.weight_bytes("gemm", "embedding"),
        "expert_weight_bytes": work.weight_bytes("experts"),
        "kv_read_bytes": work.read_bytes("attention") + written,
        "index_read_bytes": work.read_bytes("indexer") + work.written_bytes("indexer"),
        "state_bytes": work.read_bytes("scan") + work.written_bytes("scan"),
        "kv_append_bytes": appended,
    }


def _of_phase(sides: _Sides) -> Agreement:
    table, accountant = sides.table(), sides.accountant()
    if not any(draft.family == "kv_append" and draft.verdict != "fold" for draft in sides.drafts):
        accountant.pop("kv_append_bytes")  # a kernel that does more appends too
    figures = [name for name, value in accountant.items() if value or table.get(name)]
    found = Agreement(
        phase=sides.phase.label,
        tolerance=TOLERANCE,
        table={name: table.get(name, 0.0) for name in figures},
        accountant={name: accountant[name] for name in figures},
        trace={},
        named=named_differences(sides.plain, sides.launched, step_of(sides.phase)),
    )
    return _localised(found, sides) if found.off else found


def _localised(found: Agreement, sides: _Sides) -> Agreement:
    """Figures that are off, once more for each layer class that has them."""
    names = [
        name for name in found.table if any(text.startswith(f"{found.phase} {name}:") for text in found.off)
    ]
    ours, theirs = dict(found.table), dict(found.accountant)
    for layer_class in dict.fromkeys(draft.layer_class for draft in sides.drafts):
        table, accountant = sides.table(layer_class), sides.accountant(layer_class)
        for name in names:
            if table.get(name) or accountant[name]:
                ours[f"{name} of {layer_class}"] = table.get(name, 0.0)
                theirs[f"{name} of {layer_class}"] = accountant[name]
    return found.model_copy(update={"table": ours, "accountant": theirs})
