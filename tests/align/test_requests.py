"""`align` on requests: against an engine whose host time is known, from a log and from results of its client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from server.align.served_report import ServedReport
from server.cli import cli
from servingsim.sim.truth.requests_run_bench import HOW_TO_DETAIL
from tests.align import requests_engine as engine

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from servingsim.sim.truth.requests import RequestTimes
    from servingsim.sim.workload.contract import Workload

HOST = (
    "--set",
    f"pools.0.host.graph_ms={engine.HOST_MS}",
    "--set",
    f"pools.0.host.eager_ms={engine.HOST_MS}",
)
DETAIL = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors", "generated_texts")


class Ran:
    """The engine's run, and a folder for its files."""

    def __init__(self, folder: Path) -> None:
        """Run it once."""
        self.folder = folder
        self.db = engine.make_store(folder / "rows.db")
        self.workload: Workload = engine.traffic(engine.arrivals(8.0))
        self.times: RequestTimes = engine.run(self.db, self.workload)
        self.log = engine.write_log(folder / "requests.jsonl", self.workload, self.times)

    def bench(self, name: str, **fields: Any) -> Path:  # noqa: ANN401 - of the file
        """A result file."""
        return engine.write_bench(
            self.folder / f"{name}.json", engine.bench_result(self.workload, self.times, **fields)
        )

    def align(self, log: Path, *words: str) -> Result:
        """The command."""
        every = ["align", engine.MODEL, "--log", str(log), "--db", str(self.db), *engine.OPTIONS, *words]
        return CliRunner().invoke(cli, every)

    def report(self, log: Path, *words: str) -> ServedReport:
        """The command's JSON."""
        result = self.align(log, *words, "--json")
        assert result.exit_code == 0, result.output
        return ServedReport.model_validate_json(result.stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("ran"))


def errors(report: ServedReport) -> list[float]:
    return [each.error_percent for each in report.figures.values() if each.error_percent is not None]


def test_a_log_beside_the_engine_that_wrote_it_is_right_in_every_figure_and_curve(ran: Ran) -> None:
    """Defect: a time, an arrival or an option is lost between the file and the simulation."""
    report = ran.report(ran.log, *HOST)
    assert len(report.figures) == 17
    assert errors(report) == pytest.approx([0.0] * 17, abs=1e-3)
    assert report.curves.keys() == {"running", "waiting"}
    assert max(curve.difference for curve in report.curves.values()) < 0.05
    assert sum(report.time.model_dump().values()) == pytest.approx(1.0)
    assert report.time.host > 0.1
    assert report.ops[0].share == max(op.share for op in report.ops)
    assert (report.requests, report.judged, report.host) == (engine.COUNT, engine.COUNT, None)


def test_the_host_of_the_first_requests_is_the_engine_s_and_only_the_others_are_judged(ran: Ran) -> None:
    """Defect: fitted and judged on the same requests, or a host that another unit or another mean gives."""
    report = ran.report(ran.log, "--fit-host")
    assert report.host is not None
    assert report.host.time_ms == pytest.approx(engine.HOST_MS, abs=0.01)
    assert (report.host.requests, report.judged) == (engine.COUNT // 3, engine.COUNT - engine.COUNT // 3)
    later = ran.times.part(slice(report.host.requests, None))
    assert report.figures["ttft_mean_ms"].measured == pytest.approx(later.of("ttft").mean())
    assert max(map(abs, errors(report))) < 1
    before = report.before_fit["tpot_mean_ms"].error_percent
    assert before is not None
    assert before < -10
    assert report.deployment.pools[0].host.eager_ms == report.host.time_ms


def test_a_detailed_bench_result_gives_the_same_as_the_log(ran: Ran) -> None:
    """Defect: seconds as milliseconds, latency without the first token, or requests in another order than sent."""
    report = ran.report(ran.bench("detailed"), *HOST)
    same = ran.report(ran.log, *HOST)
    assert report.figures["tpot_p95_ms"].measured == pytest.approx(same.figures["tpot_p95_ms"].measured)
    assert errors(report) == pytest.approx([0.0] * len(errors(report)), abs=1e-3)
    assert report.figures.keys() == same.figures.keys()
    assert report.curves.keys() == {"in_flight"}
    assert report.curves["in_flight"].difference < 0.05
    assert report.missing == []


def test_a_result_without_requests_is_compared_as_far_as_it_goes_and_says_how_to_have_more(ran: Ran) -> None:
    """Defect: figures of made-up lengths look like figures of the run's own."""
    plain = ran.bench("plain", **dict.fromkeys(DETAIL))
    report = ran.report(plain, *HOST)
    assert {
        "ttft_mean_ms",
        "tpot_p99_ms",
        "latency_median_ms",
        "output_tokens_per_s",
    } <= report.figures.keys()
    assert not {"tpot_p95_ms", "ttft_p90_ms"} & report.figures.keys()
    assert report.curves == {}
    assert report.arrivals.startswith("gamma 8/s cv 1, drawn with seed 0")
    told = " ".join(report.missing)
    assert HOW_TO_DETAIL in told
    assert all(name in told for name in ("input_lens", "output_lens", "ttfts", "itls", "start_times"))
    assert abs(report.figures["tpot_mean_ms"].error_percent or 99) < 15

    refused = ran.align(plain, "--fit-host")
    assert refused.exit_code == 2
    assert "--save-detailed" in refused.stderr


def test_a_client_that_waits_for_answers_is_a_closed_loop(tmp_path: Path, ran: Ran) -> None:
    """Defect: requests that the client held back all come at once."""
    workload = engine.traffic(engine.closed())
    times = engine.run(ran.db, workload)
    fields = {"request_rate": "inf", "max_concurrency": engine.USERS}
    for sent in (False, True):
        result = engine.bench_result(workload, times, **fields, **({} if sent else {"start_times": None}))
        report = ran.report(engine.write_bench(tmp_path / "closed.json", result), *HOST)
        assert report.arrivals == f"closed loop of {engine.USERS} users"
        assert errors(report) == pytest.approx([0.0] * len(errors(report)), abs=0.5)
        assert bool(report.curves) == sent


def test_failed_requests_are_not_served_again(ran: Ran) -> None:
    """Defect: a request without an answer counts as one of TTFT 0."""
    result = engine.bench_result(ran.workload, ran.times, num_prompts=engine.COUNT + 1)
    for name, value in (
        ("input_lens", 50), ("output_lens", 0), ("ttfts", 0.0), ("itls", []),
        ("start_times", engine.BEGAN_S), ("errors", "reset"),
    ):  # fmt: skip
        result[name] = [*result[name], value]
    report = ran.report(engine.write_bench(ran.folder / "failed.json", result), *HOST)
    assert report.requests == engine.COUNT
    assert any("1 requests of the run failed" in note for note in report.notes)


def test_figures_that_the_file_contradicts_are_told(ran: Ran) -> None:
    """Defect: a file whose TPOT is defined in another way is compared without a word."""
    report = ran.report(ran.bench("other", mean_tpot_ms=1.0), *HOST)
    assert any("tpot mean: 1 ms by the file" in note for note in report.notes)


def test_a_deployment_that_cannot_be_the_measured_one_is_told_or_refused(ran: Ran) -> None:
    """Defect: errors of a forgotten option are taken for errors of the simulation."""
    told = ran.report(ran.log, *HOST, "--max-num-seqs", "4")
    assert any("ran at once, the deployment runs 4 at most" in note for note in told.notes)
    assert not any("ran at once" in note for note in ran.report(ran.bench("right"), *HOST).notes)
    unsent = ran.report(ran.bench("unsent", start_times=None), "--fit-host")
    assert any("requests do not come as they did" in note for note in unsent.notes)
    for words, said in (
        (("--max-model-len", "100"), "longer than max_model_len"),
        (("--set", "pools.0.kv_blocks=4"), "never fit in the KV cache"),
        ((*HOST, "--fit-host"), "a host is given and to be fitted"),
        (("--fit-host", "--fit-share", "0.001"), "nothing to fit on"),
    ):
        refused = ran.align(ran.log, *words)
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--capture", "x.json"), "--capture with a log of requests"),
        (("--fill",), "--fill with a log of requests"),
        (("--fit-on", "1"), "--fit-on with a log of requests"),
        (("--fit-share", "0.5"), "--fit-share without --fit-host"),
        (("--set", "workload.seed=1"), "the log is the traffic"),
        (("--device", "nowhere"), "nowhere"),
    ],
)
def test_options_that_say_nothing_about_requests_are_refused(
    ran: Ran, words: tuple[str, ...], said: str
) -> None:
    """Defect: an option without effect, which its user believes in."""
    refused = ran.align(ran.log, *words)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_options_that_say_nothing_about_iterations_are_refused(tmp_path: Path) -> None:
    """Defect: replicas or a fitted host of requests are dropped in silence where the log holds iterations."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"kind": "header"}\n', "utf-8")
    for option in (("--replicas", "2"), ("--fit-host",), ("--set", "pools.0.tp=2"), ("--prefix-caching",)):
        refused = CliRunner().invoke(cli, ["align", engine.MODEL, "--log", str(log), *option])
        assert refused.exit_code == 2
        assert f"{option[0]} with a log of iterations" in refused.stderr


def test_without_a_device_the_next_step_is_said(ran: Ran) -> None:
    """Defect: a field's name of a file that its user never wrote."""
    refused = CliRunner().invoke(cli, ["align", engine.MODEL, "--log", str(ran.log)])
    assert refused.exit_code == 2
    assert "which device served" in refused.stderr


def test_a_deployment_file_says_the_model_and_the_host(ran: Ran) -> None:
    """Defect: MODEL is asked for twice, or a file's host times are not those simulated."""
    pool = {
        "device": engine.DEVICE,
        "scheduler": {"max_num_tokens": 256, "max_num_seqs": 16, "max_model_len": 1024},
        "host": {"graph_ms": engine.HOST_MS, "eager_ms": engine.HOST_MS},
    }
    served = ran.folder / "served.json"
    served.write_text(json.dumps({"model": engine.MODEL, "pools": [pool]}), "utf-8")
    words = ["align", "--log", str(ran.log), "--deployment", str(served), "--db", str(ran.db), "--json"]
    report = ServedReport.model_validate_json(CliRunner().invoke(cli, words).stdout)
    assert errors(report) == pytest.approx([0.0] * 17, abs=1e-3)


def test_people_see_the_figures_the_definition_and_what_is_missing(ran: Ran) -> None:
    """Defect: TPOT without its definition, a fit without what it was fitted on, or a curve without its difference."""
    shown = ran.align(ran.log, "--fit-host").stdout
    for said in (
        "TPOT mean, ms",
        "before the fit",
        "TPOT is (latency - TTFT) / (output tokens - 1)",
        "host, taken from TPOT of the first 20 requests alone",
        "running, 0 to",
        " apart, ",
        "host ",
        "layers.mlp.gate_up_proj",
    ):
        assert said in shown, said
    plain = ran.bench("shown", **dict.fromkeys(DETAIL))
    assert "missing: no input_lens, output_lens" in ran.align(plain).stdout


@pytest.mark.slow
@pytest.mark.long
def test_a_real_log_gives_what_the_accuracy_page_claims_of_it(shared_data: Path, tmp_path: Path) -> None:
    """Defect: the command and the claims replay the same run in two ways."""
    from benchmarks.accuracy import replays  # noqa: PLC0415 - only where the data is
    from profiling.importers.llmservingsim.run import run_import  # noqa: PLC0415
    from profiling.source import StoreSource  # noqa: PLC0415
    from profiling.store import Store  # noqa: PLC0415
    from servingsim.sim.truth.requests import read_requests  # noqa: PLC0415
    from servingsim.sim.truth.requests_compare import compare_requests  # noqa: PLC0415

    runs, db = shared_data / "e2e" / "llmservingsim", tmp_path / "rows.db"
    log = runs / replays.PRO.folder / "vllm" / "requests.jsonl"
    with Store.open(db, create=True) as store:
        run_import(
            store,
            str(runs / "profiler_perf" / replays.PRO.profile),
            [str(each) for each in replays.CONFIGS.values()],
        )
        measured, source = read_requests(log, "run"), StoreSource(store)
        claimed = compare_requests(
            replays.replayed(replays.PRO, measured, source, replays.NOT_MODELLED), measured
        )
    words = ["align", replays.PRO.model, "--log", str(log), "--device", replays.PRO.device, "--db", str(db)]
    words += [
        "--max-num-seqs",
        "128",
        "--max-num-tokens",
        "2048",
        "--max-model-len",
        "32768",
        "--prefix-caching",
    ]
    words += ["--set", "pools.0.scheduler.async_scheduling=true", "--json"]
    report = ServedReport.model_validate_json(CliRunner().invoke(cli, words, catch_exceptions=False).stdout)
    found = {name.removesuffix("_ms"): each.error_percent for name, each in report.figures.items()}
    assert {name: found[name] for name in claimed.percent} == pytest.approx(claimed.percent, abs=1e-6)
    assert found["output_tokens_per_s"] == pytest.approx(claimed.throughput_percent, abs=1e-6)
    assert report.curves["running"].share_percent == pytest.approx(claimed.running_share * 100)
