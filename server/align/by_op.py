"""Captured steps beside their prediction, op by op."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from server.align.report import AlignedOp, Beside
from servingsim.sim.predict import predict
from servingsim.sim.truth.attribution import OpTimes, attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.align.captured import CapturedModel
    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.options import PredictOptions
    from servingsim.timing.source import TimingSource


def errors_by_op(
    captured: CapturedModel, model: DenseFacts | TableModel, source: TimingSource, options: PredictOptions
) -> list[AlignedOp]:
    """Every op of every phase, the largest error of a phase first."""
    return [
        AlignedOp(
            phase=each.phase,
            op=each.op,
            steps=each.steps,
            predicted_ms=each.predicted_ms,
            captured_ms=each.captured_ms,
            error_ms=each.error_ms,
            error_percent=each.error_percent if each.captured_ms else None,
            share_of_phase=each.share_of_phase,
            first_use_ms=each.first_use_ms,
        )
        for each in attribute(_times(captured, model, source, options))
    ]


def beside_ops(captured: CapturedModel) -> list[Beside]:
    """What steps take beside their ops, by phase."""
    phases: dict[str, list[int]] = defaultdict(list)
    for index in captured.times.keys() & captured.batches.keys():
        phases[captured.batches[index].phase].append(index)
    found = []
    for phase, steps in sorted(phases.items()):
        times, count = [captured.times[each] for each in steps], len(steps)
        wall_ms = sum(each.wall_ms for each in times) / count
        beside_ms = sum(each.beside_ms for each in times) / count
        before = [each.before_ms for each in times if not math.isnan(each.before_ms)]
        found.append(
            Beside(
                phase=phase,
                steps=count,
                wall_ms=wall_ms,
                ops_ms=wall_ms - beside_ms,
                beside_ms=beside_ms,
                before_ms=median(before) if before else 0.0,
            )
        )
    return found


def _times(
    captured: CapturedModel, model: DenseFacts | TableModel, source: TimingSource, options: PredictOptions
) -> Iterator[OpTimes]:
    for index in sorted(captured.times.keys() & captured.batches.keys()):
        batch = captured.batches[index]
        predicted: dict[str, float] = defaultdict(float)
        for row in predict(model, batch.batch(), source, options).ops:
            predicted[_op(row.op)] += row.time_ms
        for op in captured.times[index].ops:
            names = [
                captured.drafts[op.row].op,
                *([captured.drafts[op.also].op] if op.also is not None else []),
            ]
            typical_ms = op.typical_ms * len(op.launch_ms)
            yield OpTimes(
                batch.phase,
                " + ".join(names),
                sum(predicted.pop(name, 0.0) for name in names),
                typical_ms,
                op.total_ms - typical_ms,
            )
        for name, time_ms in predicted.items():
            if time_ms:
                yield OpTimes(batch.phase, name, time_ms, 0.0)


def _op(path: str) -> str:
    """An op's name without the class of its layers, as rows of a table have it."""
    known = path.split(".")
    return ".".join(known[-2:])
