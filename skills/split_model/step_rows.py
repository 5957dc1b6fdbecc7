"""The launches of each captured step beside the rows of a table, one by one: what a comparison by op starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.capture import KINDS, OUTSIDE
from skills.split_model.capture import LaunchKind
from skills.split_model.kinds import known_kinds
from skills.split_model.model_input import model_on_stack
from skills.split_model.placing_order import layer_order, slots_of
from skills.split_model.placing_steps import follow_order
from skills.split_model.ways import drafts_of

if TYPE_CHECKING:
    from profiling.captures.capture import Capture
    from skills.desk import Desk
    from skills.split_model.draft import Draft
    from skills.split_model.placing_order import Slot
    from skills.split_model.schema import SplitRequest


@dataclass(frozen=True)
class StepRows:
    """One step, in the order of its launches.

    Attributes:
        step: Index of the capture's step.
        launches: Index of each launch in the capture's columns.
        rows: Rows of the table that each is of; empty where it is of none. Several share a launch of two phases.
        slots: Places of the table's order, as rows: what a step of this phase launches.
    """

    step: int
    launches: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class PlacedCapture:
    """A capture laid along a table.

    Attributes:
        drafts: The table's rows.
        steps: The steps whose order could be followed.
    """

    drafts: tuple[Draft, ...]
    steps: tuple[StepRows, ...]


def steps_beside_rows(request: SplitRequest, desk: Desk, capture: Capture) -> PlacedCapture:
    """Lay every step of a capture along the rows of a model's table.

    Args:
        request: The model and its stack, as for a split.
        desk: Where its files are read.
        capture: With the launches of its steps.

    Raises:
        ServingSimError: The model is none that can be split.
    """
    model = model_on_stack(request, desk)
    drafts = tuple(drafts_of(model, {"prefill", "decode"}, known_kinds(desk).args))
    order = layer_order(model.facts, model.config.get("layer_types") or ())
    found = [
        _followed(index, capture, drafts, order, eager=request.stack == "transformers")
        for index in range(len(capture.steps))
    ]
    return PlacedCapture(drafts, tuple(each for each in found if each is not None))


def _followed(
    step: int, capture: Capture, drafts: tuple[Draft, ...], order: tuple[str, ...], *, eager: bool
) -> StepRows | None:
    launches = capture.launches
    mine = np.flatnonzero(
        (launches.step == step) & (launches.kind == KINDS.index("kernel")) & (launches.broken == 0)
    )
    if step == OUTSIDE or not len(mine):
        return None
    busiest = np.bincount(launches.device[mine] - launches.device[mine].min()).argmax()
    mine = mine[launches.device[mine] - launches.device[mine].min() == busiest]
    mine = mine[np.argsort(launches.start_ns[mine], kind="stable")]
    keys = np.stack([launches.name[mine], launches.cpu_op[mine], launches.shapes[mine]])
    found, sequence = np.unique(keys, axis=1, return_inverse=True)
    kinds = [
        LaunchKind(launches.names[name], launches.cpu_ops[op], launches.shape_texts[shapes])
        for name, op, shapes in found.T.tolist()
    ]
    phase = capture.steps[step].phase
    followed = follow_order(
        np.asarray(sequence, np.intp).reshape(-1), kinds, drafts, order, phase=phase, eager=eager
    )
    if followed is None or followed.steps != 1:
        return None
    return StepRows(
        step,
        tuple(mine.tolist()),
        tuple(home.rows for home in followed.homes),
        tuple(slots_of(drafts, order, phase)),
    )
