"""Reading a table's file by column name: parquet or comma-separated text, plain or gzipped, in batches.

Only the wanted columns are read, whatever their order and type; numbers become float64, texts codes. A file that
is damaged, or whose column has another type, is refused whole, with the column named.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.importers.aiconfigurator.columns import Columns, FloatArray, Text
from profiling.importers.aiconfigurator.optional import module
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

PARQUET = (".parquet",)
TEXT = (".csv", ".csv.gz", ".txt", ".txt.gz")
SUFFIXES = (*PARQUET, *TEXT)
BATCH_ROWS = 65_536
BLOCK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Wanted:
    """Columns to read.

    Attributes:
        numbers: Numbers that have to be there.
        texts: Texts that have to be there.
        optional_numbers: Numbers that may be absent, with the value that then holds.
        optional_texts: The same for texts.
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    optional_numbers: Mapping[str, float] = field(default_factory=dict)
    optional_texts: Mapping[str, str] = field(default_factory=dict)

    def check(self, there: Iterable[str], path: Path) -> None:
        """Refuse a file that lacks a column.

        Raises:
            ServingSimError: E_INPUT, naming the columns.
        """
        missing = [name for name in (*self.texts, *self.numbers) if name not in set(there)]
        if missing:
            raise ServingSimError(
                f"has no column {', '.join(missing)}",
                path=str(path),
                known=f"columns {', '.join(list(there)[:40])}",
                hint="correct the table's header, or leave the table out with --table",
            )


def column_names(path: Path) -> list[str]:
    """Names of the columns of a file.

    Raises:
        ServingSimError: E_PATH or E_INPUT, when it cannot be read.
    """
    with _faults(path):
        if _is_parquet(path):
            return list(module("pyarrow.parquet").read_schema(path).names)
        with _open_text(path, None) as reader:
            return list(reader.schema.names)


def first_text(path: Path, column: str) -> str:
    """The first row's value of a text column, empty where there is none."""
    wanted = Wanted((), (column,))
    for batch in _batches(path, wanted, [column], batch_rows=1):
        if len(batch):
            return batch.texts[column].at(0)
    return ""


def read_columns(path: Path, wanted: Wanted) -> Columns:
    """Read the wanted columns of a file.

    Raises:
        ServingSimError: E_PATH or E_INPUT, when it cannot be read, is damaged or lacks a column.
    """
    there = column_names(path)
    wanted.check(there, path)
    parts = list(_batches(path, wanted, there, batch_rows=BATCH_ROWS))
    if not parts:
        raise ServingSimError("has no rows", path=str(path), hint="leave the table out with --table")
    read = Columns.concatenate(parts)
    return Columns(read.numbers, read.texts, np.zeros(len(read), dtype=np.int64))


def _batches(path: Path, wanted: Wanted, there: list[str], *, batch_rows: int) -> Iterator[Columns]:
    numbers = (*wanted.numbers, *wanted.optional_numbers)
    texts = (*wanted.texts, *wanted.optional_texts)
    chosen = [name for name in (*numbers, *texts) if name in there]
    source = (
        _parquet_batches(path, chosen, batch_rows)
        if _is_parquet(path)
        else _text_batches(path, chosen, texts)
    )
    with _faults(path):
        for batch in source:
            yield _columns(batch, wanted, numbers, texts)


def _parquet_batches(path: Path, chosen: list[str], batch_rows: int) -> Iterator[Any]:
    with module("pyarrow.parquet").ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=batch_rows, columns=chosen)


def _text_batches(path: Path, chosen: list[str], texts: tuple[str, ...]) -> Iterator[Any]:
    arrow = module("pyarrow")
    types = {name: arrow.string() if name in texts else arrow.float64() for name in chosen}
    with _open_text(path, types) as reader:
        yield from reader


@contextlib.contextmanager
def _open_text(path: Path, types: Mapping[str, Any] | None) -> Iterator[Any]:
    arrow, csv = module("pyarrow"), module("pyarrow.csv")
    compression = "gzip" if path.suffix == ".gz" else None
    options = csv.ConvertOptions(include_columns=list(types or ()), column_types=dict(types or {}))
    with arrow.input_stream(path, compression=compression) as stream:
        read = csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
        with csv.open_csv(stream, read_options=read, convert_options=options) as reader:
            yield reader


def _columns(batch: Any, wanted: Wanted, numbers: tuple[str, ...], texts: tuple[str, ...]) -> Columns:  # noqa: ANN401
    rows, there = batch.num_rows, set(batch.schema.names)
    return Columns(
        {
            name: _number(batch.column(name), name)
            if name in there
            else np.full(rows, wanted.optional_numbers[name])
            for name in numbers
        },
        {
            name: _text(batch.column(name), name)
            if name in there
            else Text.constant(wanted.optional_texts[name], rows)
            for name in texts
        },
        np.zeros(rows, dtype=np.int64),
    )


def _number(array: Any, name: str) -> FloatArray:  # noqa: ANN401 - a pyarrow array
    with _column_faults(name):
        values = array.cast(module("pyarrow").float64(), safe=False)
        numbers: FloatArray = values.to_numpy(zero_copy_only=False)
        return numbers


def _text(array: Any, name: str) -> Text:  # noqa: ANN401 - a pyarrow array
    with _column_faults(name):
        encoded = array.cast(module("pyarrow").string()).fill_null("").dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return Text(codes, tuple(encoded.dictionary.to_pylist()) or ("",))


def _is_parquet(path: Path) -> bool:
    return path.name.endswith(PARQUET)


@contextlib.contextmanager
def _column_faults(name: str) -> Iterator[None]:
    try:
        yield
    except module("pyarrow").lib.ArrowException as error:
        raise ServingSimError(f"column {name}: {_first_line(error)}", known="numbers and texts") from error


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """What pyarrow says of a bad file, as the project's error."""
    try:
        yield
    except ServingSimError as error:
        if error.path or error.code == "E_TOOLCHAIN":
            raise
        raise ServingSimError(error.what, known=error.known, path=str(path), hint=_HINT) from error
    except (module("pyarrow").lib.ArrowException, OSError, EOFError, ValueError, OverflowError) as error:
        missing = isinstance(error, OSError) and not path.is_file()
        raise ServingSimError(
            f"cannot be read: {_first_line(error)}",
            code="E_PATH" if missing else "E_INPUT",
            path=str(path),
            known=f"parquet and comma-separated text ({', '.join(SUFFIXES)})",
            hint=_HINT,
        ) from error


_HINT = "fetch the file anew, or leave the table out with --table"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
