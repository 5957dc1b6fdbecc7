"""Latencies, rates and goodput, recomputed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.sim.loop.state import GAP_BINS_PER_OCTAVE, GAP_OCTAVES, LOG_END_MS, LOG_REQUESTS
from servingsim.sim.results.latency import gap_ms, spread, weighted_spread
from servingsim.sim.results.report import ServingReport, Slo
from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload
from servingsim.sim.workload.spec import WorkloadSpec

if TYPE_CHECKING:
    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve


def test_latencies_are_those_of_the_logged_iterations(serve: Serve, busy: Workload) -> None:
    """Defect: TPOT over all tokens instead of those after the first; a wrong column; a gap in the wrong bin."""
    pieces: list[LogPiece] = []
    simulated = serve(busy, {"replicas": 2}, on_log=pieces.append)
    tokens_ms = _tokens_ms(simulated, pieces)
    report = results_of(simulated, check_tables=False)
    ttft = [times[0] - busy.arrival_ms[request] for request, times in enumerate(tokens_ms)]
    tpot = [(times[-1] - times[0]) / (len(times) - 1) for times in tokens_ms if len(times) > 1]
    gaps = np.concatenate([np.diff(times) for times in tokens_ms])
    assert report.latency.ttft_ms == spread(np.array(ttft))
    assert report.latency.tpot_ms is not None
    assert report.latency.tpot_ms.p90 == pytest.approx(float(np.quantile(tpot, 0.9)))
    assert report.latency.itl_ms is not None
    assert report.latency.itl_ms.count == len(gaps)
    for said, share in ((report.latency.itl_ms.p50, 0.5), (report.latency.itl_ms.p99, 0.99)):
        assert said == pytest.approx(float(np.quantile(gaps, share, method="inverted_cdf")), rel=0.012)
    assert report.latency.itl_ms.mean == pytest.approx(float(gaps.mean()), rel=0.012)


def test_gap_bins_are_read_where_the_loop_counts_them() -> None:
    """Defect: percentiles of ITL that are off by a bin or an octave."""
    from servingsim.sim.loop.gaps import gap_bin  # noqa: PLC0415 - compiled on import

    found = getattr(gap_bin, "py_func", gap_bin)
    middles = gap_ms(GAP_BINS_PER_OCTAVE * GAP_OCTAVES)
    assert [found(float(each)) for each in middles] == list(range(len(middles)))


def test_weighted_percentiles_are_those_of_the_values_written_out() -> None:
    """Defect: an off-by-one between a bin's count and its place."""
    rng = np.random.default_rng(7)
    values, counts = np.sort(rng.uniform(0, 9, 40)), rng.integers(0, 5, 40)
    found = weighted_spread(values, counts)
    written = np.repeat(values, counts)
    assert found is not None
    assert [found.p50, found.p90, found.p95, found.p99, found.most] == pytest.approx(
        np.quantile(written, [0.5, 0.9, 0.95, 0.99, 1], method="inverted_cdf").tolist()
    )
    assert weighted_spread(values, counts * 0) is None


def test_goodput_counts_requests_that_keep_every_limit_and_no_rejected_one(serve: Serve) -> None:
    """Defect: a rejected request, without a latency, that passes as one within the limits."""
    longer_than_the_model = 600
    workload = plain_workload(
        "mixed",
        "",
        np.array([0.0, 0.0, 9e4]),
        np.array([50, longer_than_the_model, 50]),
        np.array([1, 5, 20]),
    )
    simulated = serve(workload)
    loose = results_of(simulated, slo=Slo(ttft_ms=1e9), check_tables=False)
    assert loose.outcome.rejected_length == 1
    assert loose.goodput is not None
    assert loose.goodput.share == pytest.approx(2 / 3)
    assert loose.goodput.requests_per_s == pytest.approx(2 / loose.outcome.span_s)
    strict = results_of(simulated, slo=Slo(ttft_ms=1e9, tpot_ms=1e-6), check_tables=False)
    assert strict.goodput is not None
    assert strict.goodput.share == pytest.approx(1 / 3), "a single token has no TPOT to keep"
    assert results_of(simulated, check_tables=False).goodput is None


def test_a_run_in_which_nothing_was_served_is_reported(serve: Serve) -> None:
    """Defect: a division by no time or no request, or NaN in the JSON."""
    workload = plain_workload("too long", "", np.zeros(2), np.array([900, 900]), np.array([5, 5]))
    report = results_of(serve(workload), slo=Slo(ttft_ms=1.0))
    assert report.outcome.done == 0
    assert report.latency.ttft_ms is None
    assert report.throughput.requests_per_s == 0
    assert report.time.idle == 1
    assert ServingReport.model_validate_json(report.model_dump_json()) == report


def test_equal_runs_give_equal_reports(serve: Serve, busy: Workload) -> None:
    """Defect: an order of a set, or a clock, in what is compared between runs."""
    first, second = (results_of(serve(busy, {"replicas": 2})) for _ in range(2))
    assert first.model_copy(update={"run": second.run}) == second
    assert ServingReport.model_validate_json(first.model_dump_json()) == first


def test_series_hold_all_tokens_and_all_waiting(serve: Serve, busy: Workload) -> None:
    """Defect: a bin that loses what lies at its edge. Requests in the system times time is latency summed (Little)."""
    report = results_of(serve(busy), check_tables=False)
    series, latency = report.series, report.latency
    assert sum(series.output_tokens_per_s) * series.bin_s == pytest.approx(busy.output.sum(), rel=1e-3)
    assert sum(series.arrivals_per_s) * series.bin_s == pytest.approx(len(busy), rel=1e-3)
    assert latency.queue_ms is not None
    assert latency.e2e_ms is not None
    summed_s = latency.e2e_ms.mean * latency.e2e_ms.count / 1e3
    waited_s = latency.queue_ms.mean * latency.queue_ms.count / 1e3
    assert sum(series.waiting) * series.bin_s == pytest.approx(waited_s, rel=2e-3)
    assert sum(series.running) * series.bin_s == pytest.approx(summed_s - waited_s, rel=2e-3)


def test_prefix_hits_are_a_share_of_prompt_tokens(serve: Serve) -> None:
    """Defect: hits over computed tokens, or of requests: equal prompts one after another hit all but the first."""
    spec = WorkloadSpec.model_validate(
        {
            "requests": 4,
            "prompt": {"mean": 100},
            "output": {"mean": 4},
            "arrivals": {"kind": "closed", "size": 1},
            "prefixes": {"tokens": 64},
        }
    )
    report = results_of(serve(spec, {"scheduler": {"prefix_caching": True}}), check_tables=False)
    assert report.prefix_hit_share == pytest.approx(3 * 64 / 400)
    assert report.traffic.repeated_share == pytest.approx(3 * 64 / 400)
    assert report.load.verdict == "closed loop"
    assert report.traffic.rate_per_s is None


def _tokens_ms(simulated: Simulated, pieces: list[LogPiece]) -> list[list[float]]:
    """When each request got each of its tokens."""
    prompt = simulated.workload.prompt
    computed: list[int] = [0] * len(prompt)
    found: list[list[float]] = [[] for _ in computed]
    for piece in pieces:
        at = 0
        for row in piece.rows:
            count = int(row[LOG_REQUESTS])
            for request, new in piece.requests[at : at + count].tolist():
                computed[request] += new
                if computed[request] >= prompt[request]:
                    found[request].append(float(row[LOG_END_MS]))
            at += count
    return found
