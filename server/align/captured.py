"""A capture laid along a model's table, with what each op took and what each step computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.captures.loading import load
from server.align.captured_batches import batches_of
from server.align.captured_rows import step_times
from servingsim.errors import ServingSimError
from skills.split_model.step_rows import steps_beside_rows

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.capture import Capture
    from server.align.captured_rows import StepTimes
    from servingsim.sim.truth.iterations import Iteration, IterationLog
    from skills.desk import Desk
    from skills.split_model.draft import Draft
    from skills.split_model.schema import SplitRequest


@dataclass(frozen=True)
class CapturedModel:
    """What a capture says of a model.

    Attributes:
        capture: The file.
        drafts: Rows of the model's table.
        times: What each row took, by step.
        batches: What each step computed, by step.
        notes: What is estimated or left out.
    """

    capture: Capture
    drafts: tuple[Draft, ...]
    times: dict[int, StepTimes]
    batches: dict[int, Iteration]
    notes: tuple[str, ...]


def captured_model(path: Path, request: SplitRequest, desk: Desk, log: IterationLog) -> CapturedModel:
    """Read a capture and place its launches.

    Raises:
        ServingSimError: The capture is none, belongs to another log, or no step of it can be followed.
    """
    capture = load(path)
    placed = steps_beside_rows(request, desk, capture)
    if not placed.steps:
        raise ServingSimError(
            "no step of the capture could be laid along the model's table",
            path=str(path),
            known=f"{len(capture.steps)} steps, {len(capture.launches)} launches",
            hint="check that model and stack are those of the capture: servingsim capture show FILE",
        )
    batches = batches_of(capture, log)
    notes = [batches.estimated] if batches.estimated else []
    if len(placed.steps) < len(capture.steps):
        notes.append(
            f"{len(capture.steps) - len(placed.steps)} captured steps could not be followed and are left out"
        )
    return CapturedModel(capture, placed.drafts, step_times(capture, placed), batches.by_step, tuple(notes))
