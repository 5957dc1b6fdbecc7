"""What holds of the report of any run: shares that are shares, parts that add up, JSON that reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.serving_page.page import html_page
from servingsim.sim.results.report import ServingReport, Slo, Spread
from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload

if TYPE_CHECKING:
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

SHARES = ("busy", "kv_used", "extrapolated", "estimated")
requests = st.tuples(
    st.floats(0, 5000, allow_nan=False), st.integers(1, 400), st.integers(1, 40)
)  # gap to the one before, prompt, output
pools = st.fixed_dictionaries(
    {
        "replicas": st.integers(1, 3),
        "pp": st.sampled_from([1, 2]),
        "tp": st.sampled_from([1, 2]),
        "kv_blocks": st.integers(20, 64),
        "router": st.sampled_from(["round_robin", "least_outstanding", "least_kv"]),
        "host": st.sampled_from([{}, {"graph_ms": 0.5, "eager_ms": 3.0, "request_ms": 0.1}]),
        "scheduler": st.fixed_dictionaries(
            {
                "policy": st.sampled_from(["vllm", "sglang", "sarathi", "prefill_first"]),
                "max_num_seqs": st.integers(1, 16),
                "draft_tokens": st.sampled_from([0, 0, 2]),
                "acceptance": st.just(0.5),
            }
        ),
    }
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(requests, min_size=1, max_size=30), served=st.lists(pools, min_size=1, max_size=2))
def test_every_report_is_consistent(
    serve: Serve, asked: list[tuple[float, int, int]], served: list[dict[str, Any]]
) -> None:
    """Defect: a corner of policies, pools and lengths in which time is lost or a figure is none."""
    named = [pool | {"name": f"pool {index}"} for index, pool in enumerate(served)]
    report = results_of(
        serve(_workload(asked), *named), slo=Slo(ttft_ms=100, e2e_ms=1000), check_tables=False
    )
    assert ServingReport.model_validate_json(report.model_dump_json()) == report
    outcome = report.outcome
    assert outcome.done + outcome.rejected_kv + outcome.rejected_length == len(asked)
    for split in (report.time, *(pool.time for pool in report.pools)):
        shares = split.model_dump().values()
        assert abs(sum(shares) - 1) < 1e-9
        assert min(shares) > -1e-9
    for pool in report.pools:
        assert all(-1e-9 <= getattr(pool, name) <= 1 + 1e-9 for name in SHARES)
        assert not pool.ops or abs(sum(op.share for op in pool.ops) - 1) < 1e-9
    assert report.goodput is not None
    assert report.goodput.share <= outcome.done / len(asked)
    for _name, spread in report.latency:
        assert spread is None or _ascends(spread)
    assert "nan" not in html_page(report).lower().replace("nanosecond", "")


def _ascends(spread: Spread) -> bool:
    values = (spread.p50, spread.p90, spread.p95, spread.p99, spread.most)
    return list(values) == sorted(values) and spread.mean <= spread.most * (1 + 1e-12)


def _workload(asked: list[tuple[float, int, int]]) -> Workload:
    gaps, prompt, output = (np.array(each) for each in zip(*asked, strict=True))
    return plain_workload("drawn", "drawn", np.cumsum(gaps), prompt, output)
