"""From a system, a stack and perhaps a version to the files of the wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.collection import read_collection
from profiling.importers.aiconfigurator.file_reader import SUFFIXES, column_names, first_text
from profiling.importers.aiconfigurator.plan import Choice, Plan, SourceFile, TableSource
from profiling.importers.aiconfigurator.reuse import table_files
from profiling.importers.aiconfigurator.table import Table, tables
from profiling.importers.aiconfigurator.versions import nearest, newest, slots, version_key
from profiling.importers.aiconfigurator.yaml_file import read_mapping
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from profiling.importers.aiconfigurator.systems_tree import SystemsTree

QUERY_VERSIONS = "query_versions.yaml"
WIDE_EP = "wide expert parallelism: whole modules, or modes whose dtype the table does not say"
NO_KIND = "no kind of this store"


def plan_tree(tree: SystemsTree, choice: Choice) -> Plan:
    """Choose the files.

    Raises:
        ServingSimError: E_NOT_FOUND for a system, stack, version or table that is not there, with those that are;
            E_INPUT or E_STATE for a YAML file beside the tables that is not usable.
    """
    chosen = choice.tables(tables())
    system = _known("system", choice.system, tree.systems(), tree)
    stack = _known("stack", choice.stack, tree.stacks(system, tables().values()), tree, f" on {system}")
    version = _version(tree, system, stack, choice, chosen)
    found = [_source(tree, system, stack, version, choice, table) for table in chosen]
    sources = [source for source, _ in found if source is not None]
    if not sources:
        names = ", ".join(table.name for table in chosen)
        raise ServingSimError(
            f"no table {names} for {stack} on {system}",
            code="E_NOT_FOUND",
            known="; ".join(note for _, note in found),
            hint="leave out --table",
        )
    return Plan(
        source=tree.source,
        tables=tuple(sources),
        system=system,
        stack=stack,
        version=version,
        device=choice.device_name or _device(tree, system, sources),
        system_spec=read_mapping(tree.root / f"{system}.yaml"),
        system_spec_shown=tree.shown(tree.root / f"{system}.yaml"),
        not_imported=_not_imported(tree, system, stack, version),
        notes=tuple(note for _, note in found if note),
    )


def _known(what: str, name: str, there: Sequence[str], tree: SystemsTree, where: str = "") -> str:
    if name in there:
        return name
    problem = f"unknown {what} {name!r}" if name else f"no {what} is named"
    raise ServingSimError(
        f"{problem}{where}",
        code="E_NOT_FOUND" if name else "E_INPUT",
        known=", ".join(there) or f"none in {tree.source}",
        hint=f"name one of these with --{what}",
    )


def _version(tree: SystemsTree, system: str, stack: str, choice: Choice, chosen: Sequence[Table]) -> str:
    """The version asked for, or the one that the data's makers call current, or the newest that is there."""
    own = [table for table in chosen if not table.libraries]
    there = {version for table in own for version in tree.versions(system, table, stack)}
    named = slots(read_mapping(tree.root / QUERY_VERSIONS), system, stack)
    wanted = named.get(choice.version, choice.version)
    if wanted and wanted not in there and own:
        raise ServingSimError(
            f"unknown version {choice.version!r} of {stack} on {system}",
            code="E_NOT_FOUND",
            known=", ".join(sorted(there, key=version_key)) or "none",
            hint="name one of these with --version, or leave it out",
        )
    if wanted:
        return wanted
    current = named.get("current", "")
    return current if current in there or not there else newest(there)


def _source(
    tree: SystemsTree, system: str, stack: str, version: str, choice: Choice, table: Table
) -> tuple[TableSource | None, str]:
    """The files of one table, and what a reader should know about the choice."""
    for folder in table.folders(stack):
        present = tree.versions(system, table, folder)
        taken = _taken(table, present, version, choice)
        for stem in table.stems:
            paths = table_files(tree.version_folder(system, table, folder, taken), stem) if taken else []
            if paths:
                files = tuple(_file(tree, path, stem) for path in paths)
                note = _note(table, folder, taken, version, paths)
                return TableSource(table, files, folder, taken, ranked=True), note
    folders = " or ".join(table.folders(stack))
    having = {folder: tree.versions(system, table, folder) for folder in table.folders(stack)}
    there = [f"{folder} {', '.join(versions)}" for folder, versions in having.items() if versions] or ["none"]
    wanted = choice.nccl_version if table.libraries else version
    return None, f"{table.name}: no {folders} {wanted} on {system}; there is {'; '.join(there)}".rstrip()


def _taken(table: Table, present: Sequence[str], version: str, choice: Choice) -> str:
    """The version of a table: communication may fall back to a near one, since stacks rarely change it."""
    if not present:
        return ""
    if table.libraries:
        wanted = choice.nccl_version
        return newest(present) if not wanted else wanted if wanted in present else ""
    if table.family == "comm":
        return nearest(version, present) if version else newest(present)
    return version if version in present else ""


def _note(table: Table, folder: str, taken: str, version: str, paths: Sequence[Path]) -> str:
    reused = [path.parent.name for path in paths if path.parent.name != taken]
    parts = []
    if table.libraries:
        parts.append(f"{table.name}: the table of {folder} {taken}")
    elif taken != version:
        parts.append(
            f"{table.name}: the table of {folder} {taken}, since there is none of {version or 'a current version'}"
        )
    if reused:
        parts.append(f"{table.name}: {folder} {taken} reuses measurements of {', '.join(reused)}")
    return "; ".join(parts)


def _file(tree: SystemsTree, path: Path, stem: str) -> SourceFile:
    return SourceFile(path, tree.shown(path), path.parent.name, read_collection(path.parent, stem))


def _device(tree: SystemsTree, system: str, sources: Sequence[TableSource]) -> str:
    """The device that the system's other tables name, where a chosen one names none."""
    if all("device" in column_names(file.path) for source in sources for file in source.files):
        return ""
    for path in sorted((tree.root / "data" / system).glob("*/*/*/*.parquet")):
        if "device" in column_names(path):
            return first_text(path, "device")
    return ""


def _not_imported(tree: SystemsTree, system: str, stack: str, version: str) -> dict[str, str]:
    ours = {stem for table in tables().values() for stem in table.stems}
    there = (tree.root / "data" / system).glob(f"*/{stack}/{version or '*'}/*")
    stems = sorted({path.name.partition(".")[0] for path in there if path.name.endswith(SUFFIXES)})
    wide = ("wideep", "moe_a2a", "trtllm_alltoall")
    return {stem: WIDE_EP if stem.startswith(wide) else NO_KIND for stem in stems if stem not in ours}
