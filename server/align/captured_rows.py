"""A capture's launches as rows of kernel kinds: what each op of the table took in each captured step.

On a GPU a row is the launches that were placed in it. On a CPU kernels and host share one thread, so that the time
between two launches is told too: operations between two anchors (products, attention, cache writes) belong to the
table's rows that lie between those anchors and have no launch of their own name (a norm as eight plain operations, or
as code that a compiler generated and no profiler names), else to the row before.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.captures.capture import Capture
    from servingsim.timing.source import FloatArray
    from skills.split_model.step_rows import PlacedCapture, StepRows

DECOMPOSED = ("norm",)
"""Families that eager code computes by plain operations: one of those by itself is no anchor."""
NO_GAP_MS = 1e-6
"""Between an operation and what it calls: the reader puts them end to end."""
VIEWS = (
    "view", "slice", "as_strided", "reshape", "narrow", "chunk", "split", "split_with_sizes", "alias", "detach",
    "select", "expand", "permute", "transpose", "unsqueeze", "squeeze", "item", "_local_scalar_dense",
)  # fmt: skip
"""Operations of the host that compute nothing: its own time."""


@dataclass(frozen=True)
class OpTime:
    """One op of the table in one step.

    Attributes:
        step: Index of the step.
        row: Index of the draft; of a launch of two phases the first, `also` the other.
        also: Of a launch that does for prefill and decode: the decode row.
        launch_ms: Of each of its launches, in order.
    """

    step: int
    row: int
    also: int | None
    launch_ms: tuple[float, ...]

    @property
    def typical_ms(self) -> float:
        """Of one launch: the median, since the first of a new shape also prepares the library."""
        return float(np.median(self.launch_ms))

    @property
    def total_ms(self) -> float:
        """Of all of them."""
        return float(np.sum(self.launch_ms))


@dataclass
class StepTimes:
    """What one step took, op by op, and beside the ops.

    Attributes:
        ops: In the order of the table.
        beside_ms: Launches and time between launches that are of no row.
        wall_ms: From its first launch to its last one's end.
        before_ms: From the end of the step before to its first launch; NaN for the first step.
    """

    ops: list[OpTime]
    beside_ms: float
    wall_ms: float
    before_ms: float


@dataclass
class _Book:
    """Milliseconds of each launch unit of a row, in order."""

    units: dict[tuple[int, ...], list[float]] = field(default_factory=lambda: defaultdict(list))

    def begin(self, rows: tuple[int, ...], ms: float) -> None:
        self.units[rows].append(ms)

    def more(self, rows: tuple[int, ...], ms: float) -> None:
        self.units[rows][-1] += ms


def step_times(capture: Capture, placed: PlacedCapture) -> dict[int, StepTimes]:
    """Every followed step of a capture, by its index."""
    host = capture.facts.get("host_only") == "1"
    return {step.step: _times(capture, placed, step, host=host) for step in placed.steps}


def _times(capture: Capture, placed: PlacedCapture, step: StepRows, *, host: bool) -> StepTimes:
    launches = capture.launches
    at = np.array(step.launches)
    start_ms = (launches.start_ns[at] - launches.start_ns[at[0]]) / 1e6
    spent_ms = launches.duration_ns[at] / 1e6
    names = [launches.names[launches.name[each]] for each in step.launches]
    book = _Book()
    if host:
        _on_host(book, placed, step, start_ms, spent_ms, names)
    else:
        _on_device(book, placed, step, spent_ms)
    wall_ms = float(start_ms[-1] + spent_ms[-1])
    ops = [
        OpTime(step.step, rows[0], rows[1] if len(rows) > 1 else None, tuple(units))
        for rows, units in sorted(book.units.items())
    ]
    beside_ms = max(wall_ms - sum(each.total_ms for each in ops), 0.0)
    return StepTimes(ops, beside_ms, wall_ms, _before_ms(capture, step.step))


def _before_ms(capture: Capture, step: int) -> float:
    if not step:
        return float("nan")
    last, this = capture.steps[step - 1], capture.steps[step]
    return max(this.start_ns - last.start_ns - last.wall_ns, 0) / 1e6


def _on_device(book: _Book, placed: PlacedCapture, step: StepRows, spent_ms: FloatArray) -> None:
    """Launches of a row divided evenly over the times that it runs: a library may take several for one."""
    sums: dict[tuple[int, ...], float] = defaultdict(float)
    for rows, ms in zip(step.rows, spent_ms.tolist(), strict=True):
        if rows:
            sums[rows] += ms
    for rows, ms in sums.items():
        draft = placed.drafts[rows[0]]
        runs = max(draft.repeat * draft.launches, 1)
        for _ in range(runs):
            book.begin(rows, ms / runs)


def _on_host(
    book: _Book,
    placed: PlacedCapture,
    step: StepRows,
    start_ms: FloatArray,
    spent_ms: FloatArray,
    names: Sequence[str],
) -> None:
    slots = [slot.rows for slot in step.slots]
    anchors = _anchors(placed, step)
    places = _slot_places([step.rows[each] for each in anchors], slots)
    last_slot = -1
    for nth, (at, place) in enumerate(zip(anchors, places, strict=True)):
        before = anchors[nth - 1] if nth else -1
        unseen = slots[last_slot + 1 : place] if nth else []
        if nth:
            first = _inside(before, at, start_ms, spent_ms)
            book.more(slots[last_slot], float(spent_ms[before + 1 : first].sum()))
            free_ms = float(start_ms[at] - start_ms[first - 1] - spent_ms[first - 1])
            _between(book, unseen, range(first, at), spent_ms, free_ms, names, slots[last_slot])
        same = place == last_slot
        (book.more if same else book.begin)(slots[place], float(spent_ms[at]))
        last_slot = place


def _inside(before: int, at: int, start_ms: FloatArray, spent_ms: FloatArray) -> int:
    """The first launch behind an anchor that it did not call itself: those stand without a gap behind it."""
    first = before + 1
    while first < at and start_ms[first] - start_ms[first - 1] - spent_ms[first - 1] < NO_GAP_MS:
        first += 1
    return first


def _between(
    book: _Book,
    unseen: Sequence[tuple[int, ...]],
    launches: range,
    spent_ms: FloatArray,
    free_ms: float,
    names: Sequence[str],
    before: tuple[int, ...],
) -> None:
    """Give what ran between two anchors to the rows between them, else to the row before."""
    computing = [at for at in launches if names[at].rpartition("::")[2] not in VIEWS]
    own_ms = float(sum(spent_ms[at] for at in computing))
    if unseen:
        # Nothing is named between them: generated code ran there, and its time is what lies between.
        whole_ms = own_ms if any(_computes(names[at]) for at in computing) else free_ms
        for rows in unseen:
            book.begin(rows, whole_ms / len(unseen))
    elif before and own_ms:
        book.more(before, own_ms)


def _computes(name: str) -> bool:
    return name.rpartition("::")[2] in {
        "pow",
        "mul",
        "add",
        "rsqrt",
        "mean",
        "sum",
        "silu",
        "cat",
        "neg",
        "rms_norm",
    }


def _anchors(placed: PlacedCapture, step: StepRows) -> list[int]:
    return [
        at for at, rows in enumerate(step.rows) if rows and placed.drafts[rows[0]].family not in DECOMPOSED
    ]


def _slot_places(rows: Sequence[tuple[int, ...]], slots: Sequence[tuple[int, ...]]) -> list[int]:
    """Slot of each anchor: they come in the table's order, further launches of one stay on it."""
    found, place = [], -1
    for each in rows:
        if place < 0 or not set(each) & set(slots[place]):
            place = next(
                (at for at in range(place + 1, len(slots)) if set(each) & set(slots[at])),
                next(at for at, slot in enumerate(slots) if set(each) & set(slot)),
            )
        found.append(place)
    return found
