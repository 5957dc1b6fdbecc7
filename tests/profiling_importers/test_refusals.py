"""Which rows are refused, which are marked, and how repeated measurements are merged."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.importers.aiconfigurator import IMPORTER
from profiling.importers.aiconfigurator.merge import merge
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

WriteTable = Callable[[str, Sequence[Mapping[str, Any]]], Path]
Row = Callable[..., dict[str, Any]]


def test_every_bad_row_is_refused_for_its_own_reason_and_counted(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: a zero, a NaN or a row of another arithmetic in the store, or a refusal that nobody hears of."""
    bad: list[dict[str, Any]] = [
        {"latency": 0.0},
        {"latency": 0.0, "m": 32},
        {"latency": -1.0},
        {"latency": math.nan},
        {"latency": math.inf},
        {"latency": 4e6},
        {"latency": None},
        {"m": 0},
        {"n": -5},
        {"k": 2**40},
        {"gemm_dtype": "w4afp8"},
        {"gemm_dtype": "int8_wo"},
        {"gemm_dtype": None},
        {"kernel_source": "a\x1bb"},
        {"device": ""},
    ]
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(), *(gemm_row(**change) for change in bad)])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems)).tables["gemm"]
    assert {reason: group.rows for reason, group in report.refused.items()} == {
        "latency is missing or not a finite number": 3,
        "latency is zero": 2,
        "latency is negative": 1,
        "latency is over an hour: the column is not in milliseconds": 1,
        "m is below 1": 1,
        "n is below 1": 1,
        "k: Input should be less than or equal to 16777216": 1,
        "gemm_dtype w4afp8: 4-bit weights with fp8 activations; int4 here means 16-bit ones": 1,
        "gemm_dtype int8_wo: 8-bit weights with 16-bit activations; int8 here means both": 1,
        "gemm_dtype missing: unknown dtype": 1,
        "kernel_source is no printable name of at most 256 characters": 1,
        "device is missing: name it with --device-name": 1,
    }
    assert (report.rows_read, report.rows_kept, report.rows_refused) == (16, 1, 15)
    assert "n=-5" in report.refused["n is below 1"].example
    assert len(store.rows("single_gemm")) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"num_heads": 9}, "num_heads is no multiple of num_key_value_heads"),
        ({"beam_width": 4}, "beam_width is not 1: beam search is no kind here"),
        ({"isl": 2}, "isl is not 1: a decode step makes one token"),
        ({"window_size": -1}, "window_size is below 0"),
        ({"kv_cache_dtype": "turbo4"}, "kv_cache_dtype turbo4: unknown dtype"),
    ],
)
def test_attention_rows_that_mean_something_else_are_refused(
    store: Store,
    systems: Path,
    write_table: WriteTable,
    attention_row: Row,
    change: dict[str, Any],
    reason: str,
) -> None:
    """Defect: beam search, draft tokens or impossible heads stored as plain decode."""
    good = attention_row("generation_attention", window_size=0)
    write_table("attention/vllm/0.10.0/generation_attention_perf", [good, good | change])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    refused = report.tables["generation_attention"].refused
    assert {why: group.rows for why, group in refused.items()} == {reason: 1}


def test_repeated_measurements_become_one_row_with_their_spread(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: the last of several measurements wins and their spread, the only noise floor there is, gets lost."""
    times = [0.012, 0.010, 0.011]
    write_table("gemm/vllm/0.10.0/gemm_perf", [*(gemm_row(latency=t) for t in times), gemm_row(m=17)])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems)).tables["gemm"]
    merged, single = store.rows("single_gemm")
    assert merged["median_ms"] == 0.011
    assert merged["samples"] == 3
    assert merged["cv"] == pytest.approx(statistics.stdev(times) / statistics.mean(times))
    assert (merged["p10_ms"], merged["p90_ms"]) == pytest.approx((0.0102, 0.0118))
    assert (single["samples"], single["cv"]) == (1, None)
    assert (report.rows_merged, report.rows_kept) == (2, 2)
    assert report.noise is not None
    assert report.noise.median_spread == pytest.approx(0.2)


def test_times_below_the_physical_limit_are_kept_and_marked(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: an impossible time taken for the fastest kernel, or dropped in silence."""
    flops = 2 * 8192**3
    limit_ms = flops / 989e12 * 1e3
    big = {"m": 8192, "n": 8192, "k": 8192}
    rows = [gemm_row(**big, latency=0.5 * limit_ms), gemm_row(**big | {"m": 8193}, latency=0.95 * limit_ms)]
    write_table("gemm/vllm/0.10.0/gemm_perf", rows)
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    reason = "faster than the device's peak rate or bandwidth allows"
    assert [(row["outlier"], row["outlier_reason"]) for row in store.rows("single_gemm")] == [
        (True, reason),
        (False, ""),
    ]
    assert report.outliers == 1
    assert report.tables["gemm"].outliers[reason].rows == 1


def test_a_small_operand_that_lies_in_the_cache_is_no_outlier(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: 2 MB of weights read from the cache in 0.4 us flagged for passing the memory's bandwidth."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=1, n=1024, k=1024, latency=0.0004)])
    assert IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems)).outliers == 0


def test_a_time_that_sticks_out_is_marked_and_its_neighbours_are_not(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: a compilation inside a measurement priced at every step; or its neighbours condemned with it."""
    times = {1: 0.010, 2: 0.011, 4: 0.190, 8: 0.012, 16: 0.013, 32: 0.002, 64: 0.020}
    rows = [gemm_row(m=m, latency=time_ms) for m, time_ms in times.items()]
    write_table("gemm/vllm/0.10.0/gemm_perf", [*reversed(rows), gemm_row(m=4, n=512, latency=0.19)])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    marked = [(row["m"], row["n"]) for row in store.rows("single_gemm") if row["outlier"]]
    assert marked == [(4, 256)]


def test_repetitions_that_contradict_each_other_are_marked(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: the median of 1 ms and 3 ms trusted like any other."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(latency=1.0), gemm_row(latency=3.0)])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    (row,) = store.rows("single_gemm")
    assert row["outlier_reason"] == "repeated measurements differ by more than a factor of two"


def test_nothing_is_written_when_no_row_can_be_taken(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: an empty store that looks like a successful import."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(latency=0.0)])
    with pytest.raises(ServingSimError, match="no row of gemm can be taken"):
        IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert not store.path.exists()


def test_a_missing_column_is_named_and_nothing_is_written(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: a KeyError, or a default in place of a size."""
    row = gemm_row()
    del row["n"]
    write_table("gemm/vllm/0.10.0/gemm_perf", [row])
    with pytest.raises(ServingSimError, match="has no column n"):
        IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert not store.path.exists()


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(1e-3, 1e3)), max_size=40)


@given(ROWS)
def test_merging_agrees_with_python_statistics(rows: list[tuple[int, int, float]]) -> None:
    """Defect: groups cut at the wrong place, a quantile off by one row, shapes out of order."""
    groups: dict[tuple[int, int], list[float]] = {}
    for a, b, time_ms in rows:
        groups.setdefault((a, b), []).append(time_ms)
    keys = [np.array([row[index] for row in rows], dtype=np.int64) for index in (0, 1)]
    merged = merge(keys, np.array([row[2] for row in rows], dtype=np.float64))
    assert [(rows[i][0], rows[i][1]) for i in merged.first] == list(groups)
    assert merged.samples.tolist() == [len(times) for times in groups.values()]
    for index, times in enumerate(groups.values()):
        assert merged.median_ms[index] == pytest.approx(statistics.median(times))
        if len(times) > 1:
            assert merged.p10_ms[index] == pytest.approx(np.quantile(times, 0.1))
            assert merged.cv[index] == pytest.approx(
                statistics.stdev(times) / statistics.mean(times), abs=1e-9
            )
            assert merged.spread[index] == pytest.approx(max(times) / min(times) - 1, abs=1e-9)
        else:
            assert math.isnan(merged.cv[index])
            assert math.isnan(merged.spread[index])
