"""Files that are no export, or a broken or a hostile one: a clear error, in bounded time and memory."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from profiling.captures.readers import nsys_sqlite
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Kernel = Callable[..., dict[str, Any]]
    Strings = list[dict[str, Any]]
    WriteExport = Callable[..., Path]
    ReadSqlite = Callable[[Path], Any]


@pytest.fixture
def export(write_export: WriteExport, rows_of: Kernel, strings: Strings) -> Path:
    """A sound export of some pages."""
    rows = [rows_of(at, at + 1) for at in range(2000)]
    return write_export({"CUPTI_ACTIVITY_KIND_KERNEL": rows, "StringIds": strings})


def refusal(read_sqlite: ReadSqlite, path: Path) -> ServingSimError:
    with pytest.raises(ServingSimError) as caught:
        read_sqlite(path)
    assert caught.value.hint
    assert caught.value.path == str(path)
    return caught.value


def test_a_cut_off_export_says_how_much_is_missing(export: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: half of a run summed as if it were all."""
    whole = export.read_bytes()
    export.write_bytes(whole[: len(whole) // 2])
    assert f"cut off: {len(whole) // 2} bytes of {len(whole)}" in refusal(read_sqlite, export).what


@pytest.mark.parametrize("at", [16, 101, 4096, 4099, 8200])
def test_an_overwritten_page_is_damage_or_another_clear_refusal(
    at: int, export: Path, read_sqlite: ReadSqlite
) -> None:
    """Defect: a traceback of the database's own errors."""
    data = bytearray(export.read_bytes())
    data[at : at + 64] = bytes(range(64))
    export.write_bytes(data)
    try:
        read_sqlite(export)
    except ServingSimError as error:
        assert error.code == "E_INPUT"  # noqa: PT017 - a page that holds no row may be overwritten unnoticed


def test_a_database_of_something_else_is_told_so(write_export: WriteExport, read_sqlite: ReadSqlite) -> None:
    assert (
        "no export of Nsight Systems: it holds users"
        in refusal(read_sqlite, write_export({"users": [{"name": "a"}]})).what
    )


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"CUPTI_ACTIVITY_KIND_RUNTIME": [{"start": 1, "globalTid": 2, "correlationId": 3}]}, "no table of kernels"),
        ({"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [{"start": 1, "end": 2}]}, "graph replays as one event"),
        ({"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": [{"start": 1, "end": 2, "name": 3}]}, "nvprof"),
        ({"CUPTI_ACTIVITY_KIND_KERNEL": [{"start": None, "end": 2, "shortName": 3}]}, "holds no kernel"),
    ],
)  # fmt: skip
def test_an_export_without_kernels_says_why(
    tables: dict[str, Any], said: str, write_export: WriteExport, read_sqlite: ReadSqlite
) -> None:
    """Defect: an empty table of shares, or one answer for four different faults."""
    assert said in refusal(read_sqlite, write_export(tables)).what


def test_a_view_in_place_of_a_table_is_never_run(tmp_path: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: a file's own endless query run by whoever opens it."""
    path = tmp_path / "bomb.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE StringIds (id INTEGER, value TEXT);
            CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
              WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
              SELECT x AS start, x + 1 AS end, 1 AS demangledName FROM n;"""
        )
    assert "no table of kernels" in refusal(read_sqlite, path).what


def test_a_generated_column_is_never_computed(tmp_path: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: gigabytes allocated by a column that the file computes."""
    path = tmp_path / "bomb.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName TEXT);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 3, 'k');
            ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN
              demangledName TEXT GENERATED ALWAYS AS (hex(zeroblob(start * 400000000))) VIRTUAL;"""
        )
    assert [each.name for each in read_sqlite(path).launches] == ["k"]


def test_an_open_journal_is_not_ignored(export: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: the last seconds of a run missing because they still lie beside the file."""
    export.with_name(export.name + "-wal").write_bytes(b"x" * 64)
    assert "was not closed" in refusal(read_sqlite, export).what


def test_a_compressed_export_says_what_to_do(export: Path) -> None:
    export.write_bytes(gzip.compress(export.read_bytes()))
    with pytest.raises(ServingSimError, match="compressed"):
        nsys_sqlite.read(export, None)  # type: ignore[arg-type]


def test_reading_leaves_nothing_behind(tmp_path: Path, export: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: a read-only capture folder that cannot be read, or gains journals."""
    before, stamp = sorted(tmp_path.iterdir()), export.stat().st_mtime_ns
    odd = tmp_path / "a b%20?#.sqlite"
    odd.write_bytes(export.read_bytes())
    assert len(read_sqlite(odd).launches) == 2000
    odd.unlink()
    read_sqlite(export)
    assert (sorted(tmp_path.iterdir()), export.stat().st_mtime_ns) == (before, stamp)
