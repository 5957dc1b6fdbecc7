"""Reading results of `vllm bench serve`: what is wrong is said with its field and place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests_bench import read_bench
from servingsim.sim.truth.requests_run_bench import run_of_bench

if TYPE_CHECKING:
    from pathlib import Path

RESULT: dict[str, Any] = {
    "model_id": "org/name",
    "num_prompts": 3,
    "request_rate": 2.0,
    "burstiness": 4.0,
    "max_concurrency": None,
    "duration": 4.0,
    "completed": 2,
    "total_input_tokens": 30,
    "total_output_tokens": 7,
    "request_throughput": 0.5,
    "output_throughput": 1.75,
    "mean_ttft_ms": 150.0,
    "p99_e2el_ms": 900.0,
    "input_lens": [10, 99, 20],
    "output_lens": [3, 0, 4],
    "ttfts": [0.1, 0.0, 0.2],
    "itls": [[0.05, 0.15], [], [0.1, 0.1, 0.2]],
    "start_times": [50.5, 50.2, 50.0],
    "errors": ["", "reset", ""],
}


def written(tmp_path: Path, **fields: Any) -> Path:  # noqa: ANN401 - of the file
    """A result with other fields; None leaves one out."""
    path = tmp_path / "result.json"
    result = {name: value for name, value in (RESULT | fields).items() if value is not None}
    path.write_text(json.dumps(result), "utf-8")
    return path


def test_a_request_s_latency_is_its_ttft_and_its_gaps(tmp_path: Path) -> None:
    """Defect: a failed request is served, seconds are taken for milliseconds, or TPOT is over all tokens."""
    run = run_of_bench(written(tmp_path))
    requests = run.requests
    assert requests is not None
    assert requests.prompt.tolist() == [20, 10]
    assert requests.arrival_ms.tolist() == [0.0, 500.0]
    assert requests.of("ttft") == pytest.approx([200.0, 100.0])
    assert requests.of("latency") == pytest.approx([600.0, 300.0])
    assert requests.of("tpot") == pytest.approx([400 / 3, 100.0])
    assert (run.output_tokens_per_s, run.requests_per_s) == (1.75, 0.5)
    assert run.figures["latency_p99"] == pytest.approx(597.0)


def test_figures_of_the_whole_run_are_kept_by_our_names(tmp_path: Path) -> None:
    """Defect: `e2el` is lost because we call it latency, or NaN of an empty run is a figure."""
    bench = read_bench(written(tmp_path, mean_tpot_ms=float("nan"), request_rate="inf"))
    assert bench.figures == {"ttft_mean": 150.0, "latency_p99": 900.0}
    assert (bench.completed, bench.failed, bench.rate_per_s, bench.missing) == (2, 1, None, ())


def test_mean_lengths_stand_in_and_keep_the_totals(tmp_path: Path) -> None:
    """Defect: tokens are lost in the division, or gaps of burstiness 4 are drawn as Poisson."""
    run = run_of_bench(written(tmp_path, **dict.fromkeys(("input_lens", "ttfts", "start_times"))))
    assert run.workload.prompt.tolist() == [15, 15]
    assert run.workload.output.tolist() == [4, 3]
    assert run.arrivals == "gamma 2/s cv 0.5, drawn with seed 0"
    assert run.requests is None
    assert len(run.missing) == 3


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ttfts": [0.1, 0.0, "soon"]}, r'ttfts\[2\]: "soon"'),
        ({"ttfts": [-0.1, 0.0, 0.2]}, r"ttfts\[0\]: -0.1"),
        ({"itls": [[0.05, None], [], [0.1]]}, r"itls\[0\]\[1\]: null"),
        ({"itls": [[], [], [0.1]]}, r"itls\[0\]: empty beside 3 output tokens"),
        ({"itls": [0.1, [], [0.1]]}, r"itls\[0\]: 0.1"),
        ({"ttfts": [0.1]}, "ttfts: 1 places"),
        ({"output_lens": [3, 0]}, "output_lens: 2 places"),
        ({"input_lens": [1.5, 1, 1]}, r"input_lens\[0\]: 1.5"),
        ({"output_lens": [0, 0, 0]}, "no request got an answer"),
        ({"completed": "two"}, 'completed: "two"'),
        ({"completed": None}, "no completed"),
        ({"total_output_tokens": -1}, "total_output_tokens: -1"),
        ({"request_rate": 0, "start_times": None}, "request_rate: 0"),
        ({"max_concurrency": 1.5}, "max_concurrency: 1.5"),
        ({"total_output_tokens": 0}, "total_output_tokens is 0"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    """Defect: a damaged file is aligned to nonsense, or refused without saying where."""
    with pytest.raises(ServingSimError, match=said) as refused:
        run_of_bench(written(tmp_path, **fields))
    assert refused.value.path.endswith("result.json")


def test_several_results_in_one_file_are_refused_with_the_reason(tmp_path: Path) -> None:
    """Defect: `--append-result` gives a message of the JSON reader."""
    path = written(tmp_path)
    path.write_text(path.read_text("utf-8") + "\n" + path.read_text("utf-8"), "utf-8")
    with pytest.raises(ServingSimError) as refused:
        read_bench(path)
    assert "--append-result" in refused.value.hint
