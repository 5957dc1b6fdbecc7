"""Comparing a prediction with a real forward: what a wrong comparison would hide in. No model is run here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.accuracy.forward import CASES, MODELS
from profiling.forward_case import ForwardCase
from server.cli import cli
from server.forward.groups import ONCE, by_group, is_between
from server.forward.host import gaps_of
from server.forward.rows import source_of
from server.forward.trial import Trial, batch_of
from server.forward.turns import Turns
from servingsim.errors import ServingSimError
from servingsim.sim.predict import predict

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = "Test CPU [1 threads]"
STEP_MS = 0.25


def _trial(name: str) -> Trial:
    return Trial.of(name, MODELS[name], DEVICE, CASES)


def _turns(trial: Trial, spans_ms: dict[str, float]) -> Turns:
    """Every kernel takes as long as every other, in two rounds."""
    (case,) = trial.cases
    kernels = trial.kernels([4.0])
    once = {case.label: np.full(2, 9.0)}
    spans = {case.label: {name: np.full(2, time_ms) for name, time_ms in spans_ms.items()}}
    return Turns(
        kernels=kernels,
        kernel_ms=np.full((2, len(kernels)), STEP_MS),
        step_ms=once,
        divided_ms=once,
        spans_ms=spans,
        span_calls={case.label: dict.fromkeys(spans_ms, 1)},
        active_experts={case.label: 4.0 if "num_experts" in trial.config else 0.0},
        disturbed=0.0,
    )


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_operation_is_part_of_the_forward_by_name(name: str) -> None:
    """Defect: an operation that falls to `once an iteration` makes the host's part negative and hides its own error."""
    trial = _trial(name)
    kernels = trial.kernels([4.0] * len(CASES))
    source = source_of(trial, kernels, np.full(len(kernels), STEP_MS), None)
    ops = {
        op.op
        for case in CASES
        for op in predict(trial.routed(4.0), batch_of(case), source, trial.options).ops
    }
    assert ops
    assert {group for op in ops for group in by_group({op: 1.0}, "ops") if group == ONCE} == set()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_kernels_of_a_trial_are_all_that_its_cases_need(name: str) -> None:
    """Defect: a grid point that is not measured is estimated from the limits: the error is not the model's."""
    trial = _trial(name)
    kernels = trial.kernels([4.0] * len(CASES))
    source = source_of(trial, kernels, np.full(len(kernels), STEP_MS), None)
    for case in CASES:
        assert predict(trial.routed(4.0), batch_of(case), source, trial.options).coverage == [], case.label


def test_experts_that_were_hit_are_those_that_are_priced() -> None:
    """Defect: uniform routing reads 16 experts where the run read 5: decode is priced at twice its time."""
    trial = _trial("experts")
    priced = {
        args["distribution"]
        for kind, _, args in trial.kernels([6.4, 6.4, 6.4, 3.0, 6.4])
        if kind == "fused_moe"
    }
    assert priced == {"active_6", "active_3"}
    assert trial.routed(0.0) is trial.model


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_narrow_model_shares_no_product_with_the_one_that_is_judged(name: str) -> None:
    """Defect: a host term that is fitted on the kernels of the judged model absorbs their error."""
    trial = _trial(name)
    narrow = trial.narrow()

    def products(each: Trial) -> set[tuple[Any, Any]]:
        return {
            (args["n"], args["k"])
            for kind, _, args in each.kernels([4.0] * len(each.cases))
            if kind == "single_gemm"
        }

    assert products(trial) & products(narrow) == set()
    assert narrow.num_layers == trial.num_layers
    assert narrow.config["model_type"] == trial.config["model_type"]


def test_the_host_is_own_time_less_the_operations_in_it() -> None:
    """Defect: an addition that is priced as an operation and counted again as the host's is paid twice."""
    narrow = _trial("dense").narrow()
    layers = narrow.num_layers
    adds_ms, mul_ms = 2 * layers * STEP_MS, layers * STEP_MS
    spans = {
        "model.layers": adds_ms + 0.4,
        "model.layers.mlp": mul_ms + 0.2,
        "model.layers.self_attn": 1.4,
        "model.layers.self_attn.q_proj": 77.0,
        "model": 0.3,
        "model.rotary_emb": 0.1,
    }
    gaps = gaps_of(narrow, _turns(narrow, spans))
    assert gaps.parts_ms == pytest.approx(
        {
            "between launches of a layer": 0.4,
            "between launches of the mlp": 0.2,
            "between launches of attention": 1.4,
            ONCE: 0.4,
        }
    )
    assert gaps.overhead.per_layer_ms == pytest.approx(2.0 / layers)
    assert gaps.overhead.per_iteration_ms == pytest.approx(0.4)
    assert all(is_between(part) for part in gaps.parts_ms)


def test_a_projection_is_no_gap() -> None:
    """Defect: a kernel's own time in the host's part would be in the sum twice."""
    assert by_group({"model.layers.self_attn.q_proj": 1.0}, "spans") == {"attention.q_proj": 1.0}
    assert not is_between("attention.q_proj")


def test_limits_are_what_the_kernels_reached() -> None:
    """Defect: a limit below a measured row lifts the prediction above what was measured."""
    trial = Trial.of("dense", MODELS["dense"], DEVICE, (ForwardCase(1, 1, 64),))
    kernels = trial.kernels([0.0])
    source = source_of(trial, kernels, np.full(len(kernels), STEP_MS), None)
    report = predict(trial.model, batch_of(trial.cases[0]), source, trial.options)
    assert report.iteration_ms == pytest.approx(sum(op.launches for op in report.ops) * STEP_MS)


def test_a_trial_without_a_step_is_refused() -> None:
    """Defect: a mean over no step is a division by zero in place of a word."""
    with pytest.raises(ServingSimError, match="no step to compare"):
        Trial.of("dense", MODELS["dense"], DEVICE, ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no step to compare"),
        (["--decode", "0"], "at least one token"),
        (["--prefill", "many"], "--prefill"),
        (["--decode", "8", "--rounds", "2"], "--rounds"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(tmp_path: Path, options: list[str], words: str) -> None:
    """Defect: minutes of measuring before a step turns out to be none."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MODELS["dense"]), encoding="utf-8")
    result = CliRunner().invoke(cli, ["forward", str(path), *options])
    assert result.exit_code == 2
    assert words in result.output
