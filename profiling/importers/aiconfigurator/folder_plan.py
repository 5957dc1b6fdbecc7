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
    found = {path: _table(path, known) for path in _files(root)}
    if not any(table in chosen for table in found.values()):
        raise ServingSimError(
            f"none of {len(found)} files is a table of {', '.join(table.name for table in chosen)}",
            code="E_NOT_FOUND",
            path=folder,
            known="tables with a column gemm_dtype, attn_dtype, moe_dtype, nccl_dtype or allreduce_dtype",
            hint="name the folder of the tables with --data-dir",
        )
    return Plan(
        source=f"folder {root.resolve().name}",
        tables=tuple(
            TableSource(table, files)
            for table in chosen
            if (files := tuple(_file(root, path, table) for path, of in found.items() if of is table))
        ),
        stack=choice.stack,
        version=choice.version,
        device=choice.device_name,
        not_imported={
            _shown(root, path): "no kind of this store" for path, table in found.items() if table is None
        },
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


def _table(path: Path, known: Mapping[str, Table]) -> Table | None:
    """By the dtype column, which every table has under another name, and the operation; else by the file's name."""
    there = column_names(path)
    operation = first_text(path, "op_name") if "op_name" in there else ""
    for table in known.values():
        if table.texts[0] in there and (table.libraries or operation in table.operations):
            return table
    stem = path.name.partition(".")[0].rpartition("__")[2]
    named = [table for table in known.values() if stem in table.stems and not operation]
    return named[0] if named else None


def _file(root: Path, path: Path, table: Table) -> SourceFile:
    stem, prefix = table.stems[0], path.name.rpartition("__")[0]
    collection = read_collection(path.parent, stem, prefix=f"{prefix}__" if prefix else "")
    return SourceFile(path, _shown(root, path), "", collection)


def _shown(root: Path, path: Path) -> str:
    return path.name if root.is_file() else path.relative_to(root).as_posix()
