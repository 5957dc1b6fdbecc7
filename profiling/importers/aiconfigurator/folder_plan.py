"""A user's own folder of tables: what each file is, its columns say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.collection import read_collection
from profiling.importers.aiconfigurator.file_reader import SUFFIXES, column_names, first_text
from profiling.importers.aiconfigurator.plan import Choice, Plan, SourceFile, TableSource
from profiling.importers.aiconfigurator.table import Table, tables
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan_folder(folder: str, choice: Choice) -> Plan:
    """Choose the files of a folder, or the one file.

    Raises:
        ServingSimError: E_PATH, when there is nothing to read; E_NOT_FOUND, when no file is a chosen table; E_INPUT
            for a file that is damaged.
    """
    root = Path(folder)
    known = tables()
    chosen = choice.tables(known)
    found = {path: _tables(path, known) for path in _files(root)}
    if not any(table in chosen for tables_of in found.values() for table in tables_of):
        raise ServingSimError(
            f"none of {len(found)} files is a table of {', '.join(table.name for table in chosen)}",
            code="E_NOT_FOUND",
            path=folder,
            known=f"tables with a column {', '.join(sorted({of.mark or of.texts[0] for of in known.values()}))}",
            hint="name the folder of the tables with --data-dir",
        )
    return Plan(
        source=f"folder {root.resolve().name}",
        tables=tuple(
            TableSource(table, files)
            for table in chosen
            if (files := tuple(_file(root, path, table) for path, of in found.items() if table in of))
        ),
        stack=choice.stack,
        version=choice.version,
        device=choice.device_name,
        not_imported={_shown(root, path): "no kind of this store" for path, of in found.items() if not of},
    )


def _files(root: Path) -> list[Path]:
    paths = [root] if root.is_file() else sorted(root.rglob("*")) if root.is_dir() else []
    files = [path for path in paths if path.name.endswith(SUFFIXES) and path.is_file()]
    if not files:
        raise ServingSimError(
            "holds no table" if root.exists() else "does not exist",
            code="E_PATH",
            path=str(root),
            known=f"files that end in {', '.join(SUFFIXES)}",
            hint="name the folder of the tables with --data-dir",
        )
    return files


def _tables(path: Path, known: Mapping[str, Table]) -> list[Table]:
    """By the column that marks it and the operation; else by the file's name. Several tables may read one file."""
    there = column_names(path)
    operation = first_text(path, "op_name") if "op_name" in there else ""
    if reading := [table for table in known.values() if table.reads(there, operation)]:
        return reading
    stem = path.name.partition(".")[0].rpartition("__")[2]
    return [table for table in known.values() if stem in table.stems and not operation]


def _file(root: Path, path: Path, table: Table) -> SourceFile:
    stem, prefix = table.stems[0], path.name.rpartition("__")[0]
    collection = read_collection(path.parent, stem, prefix=f"{prefix}__" if prefix else "")
    return SourceFile(path, _shown(root, path), "", collection)


def _shown(root: Path, path: Path) -> str:
    return path.name if root.is_file() else path.relative_to(root).as_posix()
