"""Measured requests: read with their faults named, and set beside simulated ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests import read_requests
from servingsim.sim.truth.requests_compare import compare_requests

if TYPE_CHECKING:
    from pathlib import Path

ONE: dict[str, Any] = {
    "input_toks": 10,
    "output_toks": 5,
    "queued_ts": 100.0,
    "scheduled_ts": 100.5,
    "first_token_ts": 101.0,
    "last_token_ts": 103.0,
}


def written(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    """A log of these lines."""
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_times_count_from_the_first_arrival_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    """Defect: a log by completion gives negative arrivals, or TPOT over all tokens in place of all but the first."""
    later = ONE | {name: ONE[name] + 2.0 for name in ONE if name.endswith("_ts")}
    requests = read_requests(written(tmp_path, later, ONE), "run")

    assert requests.arrival_ms.tolist() == [0.0, 2000.0]
    assert requests.of("ttft").tolist() == [1000.0, 1000.0]
    assert requests.of("tpot").tolist() == [500.0, 500.0]
    assert requests.of("latency").tolist() == [3000.0, 3000.0]
    assert requests.workload().prompt.tolist() == [10, 10]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"output_toks": 0}, "line 1: output_toks 0"),
        ({"input_toks": True}, "line 1: input_toks"),
        ({"first_token_ts": "soon"}, "line 1: first_token_ts"),
        ({"last_token_ts": 100.9}, "last_token_ts 100.9"),
        ({"queued_ts": -1.0}, "line 1: queued_ts"),
    ],
)
def test_a_line_that_no_run_can_have_is_refused_with_its_place(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    """Defect: errors of a run against itself, out of times in an impossible order."""
    with pytest.raises(ServingSimError, match=said):
        read_requests(written(tmp_path, ONE | fields), "run")


def test_a_run_beside_itself_is_right_and_beside_a_slower_one_is_off_by_as_much(tmp_path: Path) -> None:
    """Defect: percent of the wrong one of two, or a metric that looks at other times."""
    lines = [ONE | {name: ONE[name] + at for name in ONE if name.endswith("_ts")} for at in range(8)]
    measured = read_requests(written(tmp_path, *lines), "run")
    slower = replace(measured, first_token_ms=measured.first_token_ms + 100.0, end_ms=measured.end_ms + 300.0)
    same, off = compare_requests(measured, measured), compare_requests(slower, measured)

    assert set(same.percent.values()) == {0.0}
    assert (same.running_share, same.waiting_requests, same.throughput_percent) == (0.0, 0.0, 0.0)
    assert off.percent["ttft_mean"] == pytest.approx(10.0)
    assert off.percent["tpot_median"] == pytest.approx(10.0)
    assert off.percent["latency_p99"] == pytest.approx(10.0)
    assert off.throughput_percent < 0
    assert off.running_share > 0
    assert np.isfinite(off.waiting_requests)
