"""Captures kept and read again, and lists of kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiling.captures.loading import import_capture, load
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.capture import Capture
    from tests.captures.conftest import Made, Writer

pytest.importorskip("pyarrow")
DECODE = "execute_context_0(0)_generation_4(4)"
EPOCH = 1_365_627_862_757_064


def step(made: type[Made]) -> list[dict[str, object]]:
    return [
        made.mark(DECODE, EPOCH, 100),
        made.mark("nccl:all_reduce", EPOCH, 10),
        made.operation("aten::mm", 7, EPOCH + 1, 4, [[16, 64], [64, 32]]),
        made.launch(1, EPOCH + 2, external=7),
        made.kernel("gemm", EPOCH + 20, 5, correlation=1, grid=[4, 2, 1], block=[128, 1, 1]),
        made.kernel("späßchen<T>(\x01)", EPOCH + 30, -1),
        {**made.kernel("Memcpy HtoD", EPOCH + 40, 2), "cat": "gpu_memcpy"},
        {**made.kernel("damaged", EPOCH + 50, 2), "ts": "soon"},
    ]


def same(first: Capture, second: Capture) -> bool:
    """All that is said, whatever the files' names."""
    left, right = (
        replace(each, path=first.path, facts={}, launches=first.launches) for each in (first, second)
    )
    columns = (
        "start_ns",
        "duration_ns",
        "launched_ns",
        "device",
        "stream",
        "kind",
        "graph",
        "step",
        "broken",
    )
    return left == right and all(
        np.array_equal(getattr(first.launches, name), getattr(second.launches, name)) for name in columns
    )


def test_a_kept_capture_says_what_its_file_says(trace: Writer, made: type[Made], tmp_path: Path) -> None:
    """Defect: what was damaged, outside or broken was forgotten with the file, and its figures looked clean."""
    kept = tmp_path / "sub" / "run.capture.parquet"

    first = import_capture(trace(step(made)), kept)
    second = load(kept)

    assert same(first, second)
    assert second.facts["source"] == "rank0.pt.trace.json"
    assert second.reader == "torch"
    assert {each.kind for each in second.findings} >= {"broken_duration", "damaged", "other_annotations"}


def test_a_kept_capture_can_be_kept_again(trace: Writer, made: type[Made], tmp_path: Path) -> None:
    """Defect: the second copy named the first as its source, and counted its annotations anew."""
    once, twice = tmp_path / "a.parquet", tmp_path / "b.parquet"
    first = import_capture(trace(step(made)), once)
    import_capture(once, twice)

    again = load(twice)

    assert same(first, again)
    assert (again.facts["source"], again.reader) == ("rank0.pt.trace.json", "torch")


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_kept_capture_that_is_cut_off_is_refused(
    trace: Writer, made: type[Made], tmp_path: Path, part: float
) -> None:
    """Defect: a traceback of the parquet library."""
    kept = tmp_path / "run.capture.parquet"
    import_capture(trace(step(made)), kept)
    kept.write_bytes(kept.read_bytes()[: int(kept.stat().st_size * part)])

    with pytest.raises(ServingSimError, match="damaged parquet"):
        load(kept)


def test_another_parquet_file_is_no_capture(tmp_path: Path) -> None:
    """Defect: any parquet file was taken for launches."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.parquet as pq  # noqa: PLC0415

    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "x.parquet")

    with pytest.raises(ServingSimError, match="no capture of this version"):
        load(tmp_path / "x.parquet")


def test_nothing_is_left_where_the_target_cannot_be_written(
    trace: Writer, made: type[Made], tmp_path: Path
) -> None:
    """Defect: half a file under the name that was asked for."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ServingSimError, match="cannot be written"):
        import_capture(trace(step(made)), tmp_path / "file" / "run.parquet")

    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "rank0.pt.trace.json"]


def test_a_list_of_kernels_is_read_with_its_phases(tmp_path: Path) -> None:
    """Defect: two kernels of one name merged, or the phases of a list lost."""
    rows = [
        {"name": "gemm", "calls": 2, "total_ns": 300, "phase": "prefill"},
        {"name": "norm", "calls": 1, "total_ns": 100, "phase": "prefill"},
        {"name": "gemm", "calls": 9, "total_ns": 50, "extra": 1},
    ]
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps(rows))

    capture = load(path, phase="decode")

    assert [(each.name, each.phase, each.calls, each.share) for each in capture.totals] == [
        ("gemm", "prefill", 2, 0.75),
        ("norm", "prefill", 1, 0.25),
        ("gemm", "decode", 9, 1.0),
    ]
    with pytest.raises(ServingSimError, match="no sequence"):
        capture.sequence()


@pytest.mark.parametrize(
    "row",
    [
        {"name": "", "calls": 1, "total_ns": 1},
        {"name": "a", "calls": -1, "total_ns": 1},
        {"name": "a", "calls": 1, "total_ns": 1.5},
        {"name": "a", "calls": 1, "total_ns": 2**70},
        {"name": "a", "calls": 1, "total_ns": 1, "phase": "lunch"},
        {"name": "a", "calls": 1, "total_ns": 0},
        {"total_ns": 1},
    ],
)
def test_a_damaged_entry_of_a_list_is_refused(tmp_path: Path, row: dict[str, object]) -> None:
    """Defect: a kernel without a name or with a negative total in the sums."""
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps([row]))

    with pytest.raises(ServingSimError):
        load(path)
