"""The error that a prediction gives beside its time, and the validated errors it rests on."""

from __future__ import annotations

import math

import pytest

from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.sim.validated import ValidatedRecord, ValidatedScope
from servingsim.timing.batch import Batch
from servingsim.timing.source import HostOverhead, Provenance
from tests.sim.test_prediction import DEVICE, FACTS, empty, measured, report

BATCH = Batch.of([(16,)])


def test_an_iteration_s_interval_adds_its_ops_in_squares_and_its_layers_together() -> None:
    """Defect: errors of repeated layers cancel, or those of different kernels do not."""
    found = report(BATCH, measured(BATCH))
    assert [row.error_percent for row in found.ops] == pytest.approx([2.0] * len(found.ops))
    half_ms = math.sqrt(sum((row.time_ms * 0.02) ** 2 for row in found.ops))
    assert found.iteration_ms_90 == pytest.approx((found.kernels_ms - half_ms, found.kernels_ms + half_ms))


def test_the_host_s_part_moves_the_interval_and_widens_nothing() -> None:
    """Defect: an interval around the kernels beside a time that has the host in it."""
    source = measured(BATCH)
    without = report(BATCH, source)
    source.host[DEVICE, TRANSFORMERS.name] = HostOverhead(1.5, 0.5, Provenance("measured", DEVICE, ""))
    found = report(BATCH, source)
    assert without.iteration_ms_90 is not None
    assert found.iteration_ms_90 == pytest.approx([bound_ms + 3.0 for bound_ms in without.iteration_ms_90])


def test_estimated_ops_widen_the_interval_by_how_far_estimates_are_off() -> None:
    """Defect: an interval that leaves out what no row answers, or one that reaches below no time at all."""
    source = measured(BATCH, "single_gemm")
    found = report(BATCH, source)
    said = {row.kind: row.error_percent for row in found.ops}
    assert said == pytest.approx(
        {"single_gemm": 2.0, "attention_prefill": 1200.0, "rms_norm": 400.0, "elementwise": 400.0}
    )
    assert found.iteration_ms_90 is not None
    none_measured = report(BATCH, empty())
    assert none_measured.iteration_ms_90 is not None
    assert none_measured.iteration_ms_90[0] == 0.0


def test_a_prediction_names_the_validated_errors_of_its_kernels_and_what_is_not_validated() -> None:
    """Defect: a report that shows records of other devices, or hides that the iteration was never compared."""
    scope = ValidatedScope(
        devices=(DEVICE,), stacks=("any",), versions=("any",), kinds=("single_gemm", "rms_norm")
    )
    told = ValidatedRecord(id="a", scope=scope, metric="time", mape_percent=3.2, points=412, claim="cpu")
    elsewhere = told.model_copy(
        update={"id": "b", "scope": scope.model_copy(update={"devices": ("elsewhere",)})}
    )
    options = PredictOptions(DEVICE, TRANSFORMERS, validated=(told, elsewhere))
    found = predict(FACTS, BATCH, measured(BATCH), options)
    assert [part.kind for part in found.validated][-1] == "iteration"
    assert {part.kind: [each.id for each in part.records] for part in found.validated} == {
        "attention_prefill": [],
        "single_gemm": ["a"],
        "rms_norm": ["a"],
        "elementwise": [],
        "iteration": [],
    }
    assert sum(part.share for part in found.validated[:-1]) == pytest.approx(1)
    assert "3.2 % on 412 held-out points (cpu, of any)" in found.validated_error
    assert "not validated: attention_prefill, elementwise, whole iterations" in found.validated_error
    assert "servingsim align" in found.how_to_validate


def test_a_prediction_without_any_row_is_not_validated() -> None:
    found = report(BATCH, empty())
    assert found.validated_error == "not validated"
    assert not any(part.records for part in found.validated)
