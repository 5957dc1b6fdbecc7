"""Files of requests: every format is known by its content and says the same requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.workload.contract import to_requests
from servingsim.sim.workload.format import HEAD_BYTES, all_formats, read_workload
from servingsim.sim.workload.load import describe, workload_of
from servingsim.sim.workload.spec import Arrivals, WorkloadSpec
from servingsim.workers.state import ARRIVAL_MS, KEY_COUNT, KEY_START, LEVEL, OUTPUT, PROMPT
from tests.sim_workload.written import ARRIVALS_MS, OUTPUTS, PROMPTS, TEXTS, lines, written

if TYPE_CHECKING:
    from pathlib import Path


def test_every_format_has_a_sample_here() -> None:
    """Defect: a format that is added without a test."""
    assert set(all_formats()) == set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_is_recognised_by_its_content_and_read(name: str, tmp_path: Path) -> None:
    """Defect: a unit or a column mistaken for another: times off by 1000, outputs as prompts."""
    workload = read_workload(written(tmp_path, TEXTS[name]))
    assert tuple(workload.prompt) == PROMPTS
    assert tuple(workload.output) == OUTPUTS
    assert np.abs(workload.arrival_ms - ARRIVALS_MS).max() < 1e-6
    assert "trace.txt" in workload.source


@pytest.mark.parametrize("name", TEXTS)
def test_a_beginning_fits_one_format_only(name: str) -> None:
    """Defect: two formats fit and the alphabet decides which one reads the file."""
    head = TEXTS[name][:HEAD_BYTES]
    assert [each.name for each in all_formats().values() if each.fits(head)] == [name]


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(name: str, tmp_path: Path) -> None:
    """Defect: a file saved by a spreadsheet is refused or loses its first column."""
    path = written(tmp_path, "\ufeff" + TEXTS[name].replace("\n", "\r\n"))
    assert tuple(read_workload(path).prompt) == PROMPTS


def test_seven_digits_of_a_second_are_kept(tmp_path: Path) -> None:
    """Defect: the last digit of Azure's times cut, so that requests of different times arrive together."""
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 23:59:59.9999999,1,1\n2023-11-17 00:00:00.0000001,1,1\n"
    )
    assert read_workload(written(tmp_path, text)).arrival_ms[1] == pytest.approx(0.0002, rel=1e-9)


def test_unsorted_arrivals_are_sorted_with_a_note_and_ties_keep_their_order(tmp_path: Path) -> None:
    """Defect: the loop gets requests out of order, or the user never hears that they were."""
    text = "input_len,output_len,arrival_time\n1,1,5\n2,1,0\n3,1,5\n"
    workload = read_workload(written(tmp_path, text))
    assert list(workload.prompt) == [2, 1, 3]
    assert "sorted by arrival (1 requests" in workload.source


def test_sorting_moves_a_requests_keys_with_it(tmp_path: Path) -> None:
    """Defect: after sorting, requests reuse the prefixes of others."""
    text = lines(
        [
            {"timestamp": 9, "input_length": 600, "output_length": 1, "hash_ids": [7, 8]},
            {"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [5]},
        ]
    )
    workload = read_workload(written(tmp_path, text))
    requests = to_requests(workload)
    held = [list(requests.keys[row[KEY_START] : row[KEY_START] + row[KEY_COUNT]]) for row in requests.ints]
    assert held == [[5], [7, 8]]
    assert workload.key_tokens == 512


def test_a_priority_column_becomes_the_level(tmp_path: Path) -> None:
    """Defect: priorities of a file are dropped."""
    text = "input_len,output_len,arrival_time,priority\n4,5,6,15\n1,2,3,0\n"
    requests = to_requests(read_workload(written(tmp_path, text)))
    assert [list(row[[PROMPT, OUTPUT, LEVEL]]) for row in requests.ints] == [[1, 2, 0], [4, 5, 15]]
    assert list(requests.times_ms[:, ARRIVAL_MS]) == [0.0, 3.0]


def test_only_the_first_requests_are_read_even_if_the_rest_is_broken(tmp_path: Path) -> None:
    """Defect: `requests` reads the whole of a huge file first."""
    text = TEXTS["csv"] + "r3,nonsense,1,1\n"
    spec = WorkloadSpec(path=str(written(tmp_path, text)), requests=2)
    assert len(workload_of(spec)) == 2


def test_failed_requests_of_a_benchmark_are_no_work(tmp_path: Path) -> None:
    """Defect: a request that failed and has no output refuses the whole file."""
    text = TEXTS["bench_serve"].replace("[3, 1, 20]", "[3, 0, 20]")
    assert list(read_workload(written(tmp_path, text)).output) == [3, 20]


def test_a_rate_says_the_arrivals_where_a_benchmark_recorded_none(tmp_path: Path) -> None:
    """Defect: an old result file has all its requests at once."""
    text = '{"request_rate": 4, "input_lens": [1, 2, 3], "output_lens": [1, 1, 1]}'
    assert list(read_workload(written(tmp_path, text)).arrival_ms) == [0.0, 250.0, 500.0]


def test_a_rate_stretches_a_files_arrivals(tmp_path: Path) -> None:
    """Defect: rate scaling changes gaps against one another, or counts one request too many."""
    spec = WorkloadSpec(path=str(written(tmp_path, TEXTS["csv"])), arrivals=Arrivals(rate_per_s=1.0))
    workload = workload_of(spec)
    assert list(workload.arrival_ms) == [0.0, 501.0, 2000.0]
    assert describe(workload).rate_per_s == 1.0
    assert "stretched to 1 a second" in workload.source


def test_a_rate_for_requests_that_came_at_once_is_refused(tmp_path: Path) -> None:
    """Defect: the rate is accepted, nothing is stretched, and the report says that it was."""
    text = "input_len,output_len,arrival_time\n1,1,5\n2,1,5\n"
    spec = WorkloadSpec(path=str(written(tmp_path, text)), arrivals=Arrivals(rate_per_s=2.0))
    with pytest.raises(ServingSimError, match="all 2 requests of 'trace' arrive at once"):
        workload_of(spec)


def test_a_kind_of_arrivals_replaces_those_of_the_file(tmp_path: Path) -> None:
    """Defect: lengths of a data set cannot be sent as Poisson traffic, as benchmarks do."""
    spec = WorkloadSpec(
        path=str(written(tmp_path, TEXTS["csv"])), arrivals=Arrivals(kind="constant", rate_per_s=10.0)
    )
    workload = workload_of(spec)
    assert list(workload.arrival_ms) == [0.0, 100.0, 200.0]
    assert tuple(workload.prompt) == PROMPTS
    assert "constant 10/s" in workload.source


def test_a_spec_means_the_same_after_a_round_trip(tmp_path: Path) -> None:
    """Defect: a default that is written out says something else than the default left out."""
    spec = WorkloadSpec(path=str(written(tmp_path, TEXTS["csv"])))
    again = WorkloadSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert list(workload_of(again).arrival_ms) == list(ARRIVALS_MS)


def test_repeated_content_is_counted_once_it_was_seen(tmp_path: Path) -> None:
    """Defect: the share of reusable tokens counts first uses, or counts a part of a block as a whole one."""
    workload = read_workload(written(tmp_path, TEXTS["mooncake"]))
    # 10 tokens under key 0; then 512 under key 0 again of 1300.
    assert describe(workload).repeated_share == pytest.approx(512 / sum(PROMPTS))
    assert describe(replace(workload, key_count=workload.key_count * 0)).repeated_share == 0.0
