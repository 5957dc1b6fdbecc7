"""A trial from beginning to end: the narrow model for what lies between kernels, then the model itself, in turns."""

from __future__ import annotations

import time
from statistics import mean
from typing import TYPE_CHECKING, cast

import numpy as np

from profiling.device import local_devices
from profiling.forward import Forward
from server.forward.groups import by_group
from server.forward.host import gaps_of
from server.forward.report import ForwardReport, Part, Step
from server.forward.rows import source_of
from server.forward.trial import batch_of
from server.forward.turns import lower_quartile, take_turns
from servingsim.sim.predict import predict

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.forward_case import ForwardCase
    from profiling.forward_model import TorchDtype
    from server.forward.host import Gaps
    from server.forward.trial import Trial
    from server.forward.turns import Turns
    from servingsim.sim.report import PredictReport
    from servingsim.timing.source import FloatArray

LEAST_ROUNDS = 8
"""Fewer rounds than that do not tell a disturbance from a step."""


def compare(
    trial: Trial,
    *,
    threads: int = 1,
    rounds: int = 12,
    on_round: Callable[[int, int], None] = lambda _done, _of: None,
) -> ForwardReport:
    """Measure and predict a trial.

    Raises:
        ServingSimError: The model cannot be built or predicted, or a kernel cannot run here.
    """
    begin_s = time.monotonic()
    device = next(each for each in local_devices(threads) if each.type == "cpu")
    narrow = trial.narrow()
    with Forward(narrow.config, threads, cast("TorchDtype", narrow.dtype)) as forward:
        gaps = gaps_of(narrow, take_turns(narrow, forward, device, rounds))
    with Forward(trial.config, threads, cast("TorchDtype", trial.dtype)) as forward:
        turns = take_turns(trial, forward, device, rounds, on_round)
        libraries = forward.libraries
    steps = [_step(trial, turns, gaps, case) for case in trial.cases]
    errors = [abs(step.error) for step in steps]
    return ForwardReport(
        model=trial.name,
        device=device.name,
        dtype=trial.dtype,
        libraries=libraries,
        rounds=rounds,
        kernels=len(turns.kernels),
        disturbed=turns.disturbed,
        host_ms_per_iteration=gaps.overhead.per_iteration_ms,
        host_ms_per_layer=gaps.overhead.per_layer_ms,
        host_parts=dict(gaps.parts_ms),
        mape=mean(errors),
        worst=max(errors),
        steps=steps,
        seconds=time.monotonic() - begin_s,
    )


def _step(trial: Trial, turns: Turns, gaps: Gaps, case: ForwardCase) -> Step:
    steps_ms = turns.step_ms[case.label]
    measured_ms = float(lower_quartile(steps_ms))
    report = _predicted(trial, turns, gaps, case, lower_quartile(turns.kernel_ms))
    each_ms = [_predicted(trial, turns, gaps, case, row).iteration_ms for row in turns.kernel_ms]
    errors = np.array(each_ms) / steps_ms - 1
    return Step(
        label=case.label,
        predicted_ms=report.iteration_ms,
        kernels_ms=report.iteration_ms - (report.host_ms or 0.0),
        host_ms=report.host_ms or 0.0,
        measured_ms=measured_ms,
        error=report.iteration_ms / measured_ms - 1,
        paired_error=float(np.median(errors)),
        rounds_error_p10=float(np.percentile(errors, 10)),
        rounds_error_p90=float(np.percentile(errors, 90)),
        active_experts=turns.active_experts[case.label],
        coverage=report.coverage,
        parts=_parts(report, turns, gaps, case, measured_ms),
    )


def _predicted(
    trial: Trial, turns: Turns, gaps: Gaps, case: ForwardCase, kernel_ms: FloatArray
) -> PredictReport:
    source = source_of(trial, turns.kernels, kernel_ms, gaps.overhead)
    model = trial.routed(turns.active_experts[case.label])
    return predict(model, batch_of(case), source, trial.options)


def _parts(
    report: PredictReport, turns: Turns, gaps: Gaps, case: ForwardCase, measured_ms: float
) -> list[Part]:
    """Groups of operations and spans, and the host's part in each."""
    predicted = by_group({op.op: op.time_ms for op in report.ops}, "ops")
    for group, time_ms in gaps.parts_ms.items():
        predicted[group] = predicted.get(group, 0.0) + time_ms
    spans = {name: float(lower_quartile(each)) for name, each in turns.spans_ms[case.label].items()}
    measured = by_group(spans, "spans")
    parts = [
        Part(
            name=name,
            predicted_ms=predicted.get(name, 0.0),
            measured_ms=measured.get(name, 0.0),
            error=predicted.get(name, 0.0) / measured[name] - 1 if measured.get(name) else None,
            of_step=(predicted.get(name, 0.0) - measured.get(name, 0.0)) / measured_ms,
        )
        for name in predicted.keys() | measured.keys()
    ]
    return sorted(parts, key=lambda part: -abs(part.of_step))
