"""The order in which one step launches the rows of a table: what is before the layers, each layer, what is behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import ModelFacts
from skills.split_model.schema import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.facts import DenseFacts
    from skills.split_model.draft import Draft

BEFORE, BEHIND = -1, 10**9
"""Layers of what runs outside the loop."""


@dataclass(frozen=True)
class Slot:
    """A place in the order of a step.

    Attributes:
        rows: Indices of drafts; several where one launch may do for two phases at once.
        layer: Whose.
    """

    rows: tuple[int, ...]
    layer: int


def layer_order(facts: ModelFacts | DenseFacts, layer_types: Sequence[str] = ()) -> tuple[str, ...]:
    """Class of each layer, first to last.

    Args:
        facts: The model.
        layer_types: As the config lists them, where it does. A dense model without that list has its full layers
            first (`max_window_layers`).
    """
    if isinstance(facts, ModelFacts):
        placed = {index: layer.name for layer in facts.layers for index in layer.indices}
        return tuple(placed[index] for index in sorted(placed))
    groups = {bool(group.window_size): group.name for group in facts.layer_groups}
    if len(groups) == 2 and layer_types:
        return tuple(groups["sliding" in each] for each in layer_types)
    return tuple(group.name for group in facts.layer_groups for _ in range(group.count))


def slots_of(drafts: Sequence[Draft], order: Sequence[str], phase: str) -> list[Slot]:
    """Every launch that the table gives one step, in order.

    Args:
        drafts: The rows, each class in the order of its forward.
        order: Class of each layer.
        phase: Of the step; in a mixed one both phases' rows are launched, or one kernel does both.
    """
    mine = [index for index, draft in enumerate(drafts) if launched(draft, phase)]
    first = next((at for at in mine if drafts[at].layer_class != OUTSIDE), len(drafts))
    outside = [at for at in mine if drafts[at].layer_class == OUTSIDE]
    found = _merged(drafts, [at for at in outside if at < first], BEFORE)
    for layer, name in enumerate(order):
        found += _merged(drafts, [at for at in mine if drafts[at].layer_class == name], layer)
    return found + _merged(drafts, [at for at in outside if at > first], BEHIND)


def launched(draft: Draft, phase: str) -> bool:
    """Whether a row is a launch of its own in a step of a phase."""
    if draft.verdict == "fold":
        return False
    only = draft.counted.partition("_")[0]
    return phase not in {"prefill", "decode"} or only not in {"prefill", "decode"} or only == phase


def _merged(drafts: Sequence[Draft], rows: Sequence[int], layer: int) -> list[Slot]:
    """One slot a row, but one for prefill's and decode's attention next to each other."""
    found: list[Slot] = []
    for at in rows:
        last = found[-1].rows if found else ()
        if last and _same_unit(drafts[last[-1]], drafts[at]):
            found[-1] = Slot((*last, at), layer)
        else:
            found.append(Slot((at,), layer))
    return found


def _same_unit(one: Draft, other: Draft) -> bool:
    phases = {one.counted, other.counted}
    return (
        one.family == other.family
        and phases == {"prefill", "decode"}
        and one.op.rpartition(".")[0] == other.op.rpartition(".")[0]
        and {one.op.rpartition(".")[2], other.op.rpartition(".")[2]} == phases
    )
