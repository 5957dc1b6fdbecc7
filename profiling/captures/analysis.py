"""From what a reader found to a `Capture`: durations judged, launches given to steps, kernels summed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.broken import broken
from profiling.captures.capture import OUTSIDE, Capture
from profiling.captures.findings import findings
from profiling.captures.launches import Launches
from profiling.captures.steps import Range, assign
from profiling.captures.totals import PHASES, device_totals, kernel_totals, step_totals, summary_totals
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiling.captures.contract import Phase
    from profiling.captures.sink import ColumnSink
    from profiling.captures.steps import Assigned


def analyse(path: Path, reader: str, sink: ColumnSink, phase: Phase | None = None) -> Capture:
    """What a file holds.

    Args:
        path: The file.
        reader: Who read it.
        sink: What it found.
        phase: Of everything that does not say its own.

    Raises:
        ServingSimError: E_INPUT, it holds no kernel time that could be counted.
    """
    launches, slight = _judged(_columns(sink))
    assigned = assign(sink.marks, launches.start_ns, launches.launched_ns, launches.process)
    found = findings(sink, replace(launches, step=assigned.step), assigned, slight)
    assigned = _with_phase(assigned, phase)
    launches = replace(launches, step=assigned.step)
    summaries = [
        replace(each, phase=phase) if phase and each.phase == "unknown" else each for each in sink.summaries
    ]
    outside = PHASES.index("unknown" if assigned.ranges else phase or "unknown")
    by_step = np.asarray([*(PHASES.index(each.says.phase) for each in assigned.ranges), outside], np.uint8)
    totals = [*kernel_totals(launches, by_step[launches.step]), *summary_totals(summaries)]
    if not sum(each.total_ns for each in totals):
        raise _nothing(path, len(launches) or len(summaries))
    return Capture(
        path=path,
        reader=reader,
        facts=dict(sorted(sink.facts.items())),
        devices=device_totals(launches, sink.devices),
        launches=launches,
        steps=step_totals(launches, assigned.ranges),
        totals=totals,
        findings=found,
        marks=tuple(sink.marks),
        summaries=tuple(summaries),
    )


def _columns(sink: ColumnSink) -> Launches:
    """The sink's columns as arrays, in time order on each device."""
    types = {
        "name": np.int32,
        "cpu_op": np.int32,
        "shapes": np.int32,
        "grid": np.int32,
        "device": np.int32,
        "kind": np.uint8,
        "graph": np.uint8,
    }
    raw = {name: np.frombuffer(column, types.get(name, np.int64)) for name, column in sink.columns.items()}
    order = np.lexsort((raw["start_ns"], raw["process"], raw["device"]))
    data: dict[str, NDArray[np.generic]] = {name: column[order] for name, column in raw.items()}
    size = len(order)
    return Launches(
        names=sink.names.values(),
        cpu_ops=sink.cpu_ops.values(),
        shape_texts=sink.shapes.values(),
        grids=sink.grids.values(),
        step=np.full(size, OUTSIDE, np.int32),
        broken=np.zeros(size, np.uint8),
        **{**data, "graph": data["graph"].astype(np.bool_)},  # type: ignore[arg-type]
    )


def _judged(launches: Launches) -> tuple[Launches, int]:
    keys = np.zeros(len(launches), np.int64)
    for column in (launches.device, launches.process, launches.stream):
        values, index = np.unique(column, return_inverse=True)
        keys = np.unique(keys * max(len(values), 1) + index, return_inverse=True)[1]
    faults, slight = broken(launches.start_ns, launches.duration_ns, keys)
    return replace(launches, broken=faults), slight


def _with_phase(assigned: Assigned, phase: Phase | None) -> Assigned:
    """Steps that do not say their phase take the one that the caller knows."""
    if phase is None:
        return assigned
    ranges = [
        Range(each.mark, replace(each.says, phase=phase)) if each.says.phase == "unknown" else each
        for each in assigned.ranges
    ]
    return replace(assigned, ranges=ranges)


def _nothing(path: Path, count: int) -> ServingSimError:
    return ServingSimError(
        f"holds {count} launches or totals, and none with a duration that can be counted"
        if count
        else "holds no kernel",
        path=str(path),
        hint="capture a steady phase of the model at work",
    )
