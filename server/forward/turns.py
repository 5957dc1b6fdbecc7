"""Kernels and steps in turn, many short rounds in one process: a machine that drifts moves both alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.timers.samples import clean_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from profiling.device import LocalDevice
    from profiling.forward import Forward
    from profiling.timers.samples import Sample
    from server.forward.trial import Kernel, Trial
    from servingsim.timing.source import FloatArray

KERNEL_SAMPLES = 2
STEP_SAMPLES = 2
FIRST_STEPS = 4
"""Before the rounds, of each case: which parts a step has, and how many experts its tokens go to."""
CASES_A_VISIT = 2
"""Steps that share one visit to the kernels."""
QUARTILE = 25
"""Over the rounds: disturbances only add time, and a minimum is one round's luck."""
OnRound = "Callable[[int, int], None]"


@dataclass(frozen=True)
class Turns:
    """What many rounds have measured. Times are milliseconds, [rounds] or [rounds, kernels].

    Attributes:
        kernels: Kind, backend and args.
        kernel_ms: Of each kernel in each round.
        step_ms: By case, a step of the model.
        divided_ms: By case, a step with its parts timed.
        spans_ms: By case and label, own time in such a step.
        span_calls: By case and label, calls in such a step.
        active_experts: By case, mean number of experts that tokens went to.
        disturbed: Share of all samples in which the process waited for a core.
    """

    kernels: Sequence[Kernel]
    kernel_ms: FloatArray
    step_ms: Mapping[str, FloatArray]
    divided_ms: Mapping[str, FloatArray]
    spans_ms: Mapping[str, Mapping[str, FloatArray]]
    span_calls: Mapping[str, Mapping[str, int]]
    active_experts: Mapping[str, float]
    disturbed: float


@dataclass
class _Round:
    kernel_ms: list[float]
    step_ms: dict[str, float]
    divided_ms: dict[str, float]
    spans_ms: dict[str, dict[str, float]]


def take_turns(
    trial: Trial,
    forward: Forward,
    device: LocalDevice,
    rounds: int,
    on_round: Callable[[int, int], None] = lambda _done, _of: None,
) -> Turns:
    """Measure a trial.

    Args:
        trial: The model and its steps.
        forward: The model, running.
        device: Where it runs.
        rounds: How often everything is measured.
        on_round: Told how many of how many rounds are done.

    Raises:
        ServingSimError: E_TOOLCHAIN, when a kernel or a step cannot run.
    """
    first = {case.label: forward.divide(case, FIRST_STEPS) for case in trial.cases}
    active = {label: step.active_experts for label, step in first.items()}
    walks = trial.walks([active[case.label] for case in trial.cases])
    forward.hold(walks, device.setting())
    forward.sample(1)
    taken: list[_Round] = []
    dirty: list[bool] = []
    for index in range(rounds):
        taken.append(_round(trial, forward, dirty))
        on_round(index + 1, rounds)
    labels = [case.label for case in trial.cases]
    return Turns(
        kernels=[(each.kind, each.backend, each.args) for each in walks.kernels],
        kernel_ms=np.array([each.kernel_ms for each in taken]),
        step_ms={label: np.array([each.step_ms[label] for each in taken]) for label in labels},
        divided_ms={label: np.array([each.divided_ms[label] for each in taken]) for label in labels},
        spans_ms={
            label: {
                name: np.array([each.spans_ms[label].get(name, 0.0) for each in taken])
                for name in first[label].spans
            }
            for label in labels
        },
        span_calls={
            label: {name: span.calls // FIRST_STEPS for name, span in first[label].spans.items()}
            for label in labels
        },
        active_experts=active,
        disturbed=sum(dirty) / max(len(dirty), 1),
    )


def lower_quartile(values: FloatArray) -> FloatArray:
    """Over the rounds."""
    return np.asarray(np.percentile(values, QUARTILE, axis=0))


def _round(trial: Trial, forward: Forward, dirty: list[bool]) -> _Round:
    """Everything, the kernels again before every few cases."""
    kernels: list[list[Sample]] = []
    steps, divided = {}, {}
    for index, case in enumerate(trial.cases):
        if index % CASES_A_VISIT == 0:
            found = forward.sample(KERNEL_SAMPLES)
            kernels = (
                [[*before, *now] for before, now in zip(kernels, found, strict=True)] if kernels else found
            )
        steps[case.label] = forward.steps(case, STEP_SAMPLES)
        divided[case.label] = forward.divide(case, 1)
    for samples in (*kernels, *steps.values()):
        dirty.extend(not sample.clean for sample in samples)
    return _Round(
        kernel_ms=[_typical_ms(samples) for samples in kernels],
        step_ms={label: _typical_ms(samples) for label, samples in steps.items()},
        divided_ms={label: step.samples[0].ms for label, step in divided.items()},
        spans_ms={
            label: {name: span.own_ns / 1e6 for name, span in step.spans.items()}
            for label, step in divided.items()
        },
    )


def _typical_ms(samples: Sequence[Sample]) -> float:
    return float(np.median(clean_ms(samples) or [sample.ms for sample in samples]))
