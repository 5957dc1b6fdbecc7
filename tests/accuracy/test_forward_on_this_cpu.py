"""Real forwards on this machine against their predictions from kernels that are timed in turn with them.

Held to 8 %, over the steps of a phase. A machine that also does other work skips the model instead of judging it: the
rounds then differ among themselves by more than the promise.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

import pytest

from benchmarks.accuracy.forward import CASES, MODELS, ROUNDS
from profiling.device import local_devices
from server.forward.run import compare
from server.forward.trial import Trial

if TYPE_CHECKING:
    from server.forward.report import ForwardReport

pytest.importorskip("torch")
pytest.importorskip("transformers")

PROMISE = 0.08
MOST_WAITED = 0.02
MOST_SPREAD = 0.25
"""Between the 10th and the 90th percentile of the rounds' errors."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", list(MODELS))
def test_prefill_and_decode_are_predicted(name: str) -> None:
    """Defect: a slot that is missing, priced twice, at the wrong shape or with warm operands costs more than 8 %."""
    device = next(each for each in local_devices(1) if each.type == "cpu")
    report = compare(Trial.of(name, MODELS[name], device.name, CASES), rounds=ROUNDS)
    assert [step.coverage for step in report.steps] == [[]] * len(CASES)
    _skip_if_busy(report)
    for phase in ("prefill", "decode"):
        errors = {step.label: step.error for step in report.steps if step.label.startswith(phase)}
        assert mean(abs(error) for error in errors.values()) <= PROMISE, errors


def _skip_if_busy(report: ForwardReport) -> None:
    spread = max(step.rounds_error_p90 - step.rounds_error_p10 for step in report.steps)
    if report.disturbed > MOST_WAITED or spread > MOST_SPREAD:
        pytest.skip(
            f"the machine is busy: {report.disturbed:.0%} of samples waited, the rounds' errors spread by {spread:.0%}"
        )
