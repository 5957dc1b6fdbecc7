"""A sink that keeps everything, and small exports in any version of the schema."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from profiling.captures.readers import nsys_csv, nsys_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from profiling.captures.contract import KernelLaunch, Mark, Reader, Summary

    Tables = Mapping[str, Sequence[Mapping[str, Any]]]
    WriteExport = Callable[[Tables], Path]
    ReadSqlite = Callable[[Path], "Kept"]
    ReadText = Callable[[str | bytes], "Kept"]

PROCESS = 144
GLOBAL_PID = 0x0100_0000_0000_0000 | PROCESS << 24
GLOBAL_TID = GLOBAL_PID | 7


@dataclass
class Kept:
    """Everything that a reader told."""

    launches: list[KernelLaunch] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    devices: dict[int, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    damages: Counter[str] = field(default_factory=Counter)

    def launch(self, launch: KernelLaunch) -> None:
        self.launches.append(launch)

    def mark(self, mark: Mark) -> None:
        self.marks.append(mark)

    def summary(self, summary: Summary) -> None:
        self.summaries.append(summary)

    def device(self, index: int, name: str) -> None:
        self.devices[index] = name

    def fact(self, name: str, value: str) -> None:
        self.facts[name] = value

    def damaged(self, what: str, count: int = 1) -> None:
        self.damages[what] += count


def read_by(reader: Reader, path: Path) -> Kept:
    with path.open("rb") as handle:
        assert reader.recognises(path, handle.read(2**16)), "the reader does not know its own format"
    kept = Kept()
    reader.read(path, kept)
    return kept


@pytest.fixture
def write_export(tmp_path: Path) -> WriteExport:
    """A database of the given tables, whose columns are those of their first row."""

    def write(tables: Tables) -> Path:
        path = tmp_path / "run.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            for name, rows in tables.items():
                columns = list(rows[0])
                connection.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
                marks = ", ".join("?" * len(columns))
                values = [[row.get(column) for column in columns] for row in rows]
                connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)  # noqa: S608 - ours
            connection.commit()
        return path

    return write


@pytest.fixture(scope="session")
def read_sqlite() -> ReadSqlite:
    return lambda path: read_by(nsys_sqlite.READER, path)


@pytest.fixture
def read_text(tmp_path: Path) -> ReadText:
    """A report as text, read."""

    def read(text: str | bytes) -> Kept:
        path = tmp_path / "report.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_by(nsys_csv.READER, path)

    return read


def kernel(start: int, end: int | None, name: int | str = 1, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - columns
    """A row of the kernel table, as the columns of the present schema have it."""
    return {
        "start": start, "end": end, "deviceId": 0, "streamId": 7, "correlationId": start,
        "globalPid": GLOBAL_PID, "demangledName": name, "shortName": name, "graphNodeId": None,
        "gridX": 4, "gridY": 1, "gridZ": 1, "blockX": 128, "blockY": 1, "blockZ": 1,
    } | more  # fmt: skip


STRINGS = [{"id": 1, "value": "void gemm<float>(T1)"}, {"id": 2, "value": "norm_kernel"}]


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., dict[str, Any]]:
    return kernel


@pytest.fixture(scope="session")
def strings() -> list[dict[str, Any]]:
    return STRINGS


@pytest.fixture(scope="session")
def thread() -> int:
    """The global id of a thread of the process that launches."""
    return GLOBAL_TID
