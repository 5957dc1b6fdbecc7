"""What a measuring run says while it goes on and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from profiling.row import Timing
    from servingsim.timing.source import ArgValue

Outcome = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True)
class Progress:
    """One shape is done.

    Attributes:
        done: Shapes done so far, this one included, over all jobs.
        total: Shapes of all jobs.
        outcome: `skipped` where the store already has the row.
        reason: Why it failed, else empty.
        timing: What was measured, None unless it was.
        elapsed_s: Since the run began.
    """

    done: int
    total: int
    kind: str
    backend: str
    args: Mapping[str, ArgValue]
    outcome: Outcome
    reason: str
    timing: Timing | None
    elapsed_s: float


OnProgress = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Progress that nobody watches."""


class FailedShape(BaseModel):
    """A shape without a time, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    backend: str
    args: dict[str, int | float | str]
    reason: str


class MeasureReport(BaseModel):
    """A run's summary. `rows` holds the measured and the skipped rows of the specs, in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    db: str
    devices: list[str]
    measured: int
    skipped: int
    """Rows that were there already."""
    outliers: int
    """Measured rows whose samples cannot be trusted; the row says why."""
    failed: list[FailedShape]
    rows: list[dict[str, Any]]
    interrupted: bool
    elapsed_s: float


class MeasureInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run: the rows measured so far are stored, and a rerun goes on from there."""

    def __init__(self, report: MeasureReport) -> None:
        super().__init__("measuring was interrupted")
        self.report = report
