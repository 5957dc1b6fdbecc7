"""`align` against an engine whose costs are known, and against a real one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from server.align.align import align
from server.align.request import AlignRequest
from server.align.view import lines_of
from server.cli import cli
from servingsim.errors import ServingSimError
from tests.align import engine

if TYPE_CHECKING:
    from pathlib import Path

    from server.align.report import AlignedOp, AlignReport


def files(folder: Path, **log: Any) -> AlignRequest:  # noqa: ANN401 - fields of the log
    """A model, a capture and a log of the engine."""
    (folder / "config.json").write_text(json.dumps(engine.CONFIG), "utf-8")
    compiled = bool(log.get("compiled"))
    engine.write_capture(folder / "capture.json", engine.SWEEP, compiled=compiled)
    engine.write_log(folder / "log.jsonl", **{"captured": engine.SWEEP, **log})
    return AlignRequest(model=str(folder), log=folder / "log.jsonl", capture=folder / "capture.json")


@pytest.fixture(scope="module", params=[False, True], ids=["eager", "compiled"])
def known(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[AlignReport, bool]:
    """The report of an engine whose costs are known, and whether its code is generated."""
    compiled = bool(request.param)
    return align(files(tmp_path_factory.mktemp("known"), compiled=compiled), None), compiled


def op(report: AlignReport, phase: str, name: str) -> AlignedOp:
    return next(each for each in report.ops if (each.phase, each.op) == (phase, name))


def test_an_engine_of_known_costs_is_predicted_and_its_host_is_found(known: tuple[AlignReport, bool]) -> None:
    """Defect: kernels without a name of their own are lost, host time is called kernel time, or a phase is mistaken."""
    report, _ = known
    found = (report.host.decode_ms, report.host.other_ms, report.host.request_ms)
    constants = (engine.DECODE_HOST_MS, engine.OTHER_HOST_MS, engine.REQUEST_HOST_MS)
    assert found == pytest.approx(constants, rel=0.02)
    assert not report.notes
    assert report.judged.worst_percent == pytest.approx(0, abs=1.5)
    assert report.repeats_percent == pytest.approx(0, abs=1e-9)
    assert {each.error_percent < 1 for each in report.figures.values()} == {True}
    assert [(run.run, run.judged) for run in report.runs] == [("0", False), ("1", True), ("2", True)]
    assert {run.replay_iterations and run.replay_iterations.error_percent for run in report.runs} == {0.0}


def test_judged_runs_that_are_slower_are_told_as_wrong(tmp_path: Path) -> None:
    """Defect: what is judged is fitted on too, so that every log aligns."""
    report = align(files(tmp_path, speed=1.25), None)
    assert report.judged.total_percent == pytest.approx(-20, abs=1)
    assert report.figures["tpot_mean_ms"].error_percent == pytest.approx(20, abs=1)
    assert report.repeats_percent == pytest.approx(20, abs=1)
    assert report.host.decode_ms == pytest.approx(engine.DECODE_HOST_MS, rel=0.02)


def test_the_first_product_of_a_shape_is_set_apart(known: tuple[AlignReport, bool]) -> None:
    """Defect: what a library prepares once is priced into every iteration."""
    report, _ = known
    down = op(report, "prefill", "mlp.down_proj")
    sizes = [each.tokens for each in engine.SWEEP if each.prefills and not each.decodes]
    once = [engine.gemm_ms(size, engine.HIDDEN, engine.INTER) for size in sizes]
    mean = sum(once) / len(once)
    assert down.captured_ms == pytest.approx(engine.LAYERS * mean, rel=0.01)
    assert down.first_use_ms == pytest.approx((engine.FIRST_USE - 1) * mean, rel=0.01)


def test_a_host_beyond_what_the_capture_shows_is_called_an_error_of_the_kernels(tmp_path: Path) -> None:
    """Defect: kernels that are priced too low disappear in a fitted host, and nobody looks for them."""
    slow = align(files(tmp_path, slow_kernels=2.0), None)
    assert any("is an error of the kernels' times" in note for note in slow.notes)


def test_a_norm_is_what_runs_between_its_neighbours(known: tuple[AlignReport, bool]) -> None:
    """Defect: norms of eager or of generated code have no time, since no launch bears their name."""
    report, compiled = known
    steps = [each for each in engine.SWEEP if not each.prefills]
    norm = sum(engine.norm_ms(each, compiled=compiled) for each in steps) / len(steps)
    assert op(report, "decode", "attention.norm").captured_ms == pytest.approx(engine.LAYERS * norm, rel=0.15)


def test_without_the_captured_run_s_log_lengths_are_estimated_and_that_is_said(tmp_path: Path) -> None:
    """Defect: guessed lengths look like measured ones."""
    without = align(files(tmp_path, captured=[]), None)
    assert "lengths of single requests are not in the capture" in without.notes[0]


def test_a_log_of_another_capture_is_refused(tmp_path: Path) -> None:
    """Defect: kernels are priced at the sizes of another run."""
    request = files(tmp_path, captured=[engine.Step(((0, 17),)), *engine.SWEEP[1:]])
    with pytest.raises(ServingSimError, match="16 tokens by the capture, 17 by the log"):
        align(request, None)
    with pytest.raises(ServingSimError, match="9 iterations, the capture 10 steps"):
        align(files(tmp_path, captured=engine.SWEEP[1:]), None)


def test_one_run_cannot_be_fitted_and_judged(tmp_path: Path) -> None:
    """Defect: the error of a fit is sold as the error of a prediction."""
    with pytest.raises(ServingSimError, match="cannot be judged on it"):
        align(files(tmp_path, runs=1), None)


def test_nothing_to_price_by_is_refused_with_both_ways_out(tmp_path: Path) -> None:
    """Defect: a log alone is aligned with estimates nobody asked for."""
    request = files(tmp_path)
    with pytest.raises(ServingSimError) as refused:
        align(AlignRequest(model=request.model, log=request.log), None)
    assert "--capture" in refused.value.known
    assert "capture record" in refused.value.hint


def test_people_see_errors_first_and_whose_fit_the_host_is(known: tuple[AlignReport, bool]) -> None:
    """Defect: an error has to be looked for."""
    lines = lines_of(known[0])
    assert lines[1].startswith("iterations of 2 judged runs: 26, error 0.")
    assert lines[2].startswith("host, fitted on run 0 alone")


def test_the_command_gives_the_report_as_json(tmp_path: Path) -> None:
    """Defect: the door drops an option."""
    files(tmp_path)
    words = ["align", str(tmp_path), "--log", str(tmp_path / "log.jsonl"), "--fit-on", "1"]
    words += ["--capture", str(tmp_path / "capture.json")]
    report = json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).output)
    assert [run["run"] for run in report["runs"]] == ["1", "0", "2"]
    assert report["kernels_from"] == "capture"


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_a_real_engine_is_predicted_within_what_its_own_runs_differ_by(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    """Defect: the composition of a real engine's kernels is off by more than the engine's own spread."""
    folder = shared_data / "e2e" / "vllm_cpu"
    config = {
        **engine.CONFIG, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8,
        "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 8192,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    report = align(
        AlignRequest(
            model=str(tmp_path),
            log=folder / f"vllm_cpu_{name}.jsonl",
            capture=folder / f"vllm_cpu_{name}.trace.json.gz",
        ),
        None,
    )
    assert report.repeats_percent is not None
    assert report.judged.mape_percent < report.repeats_percent
    assert report.figures["ttft_mean_ms"].error_percent < 8
    assert report.figures["tpot_mean_ms"].error_percent < 6
    assert report.figures["output_tokens_per_s"].error_percent < 6
