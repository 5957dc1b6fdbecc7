"""The folder of systems as the `aiconfigurator-core` wheel lays it out, and what there is in it.

`<system>.yaml` holds a system's peaks, `data/<system>/<family>/<stack>/<version>/<table>.parquet` its tables.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.optional import INSTALL
from profiling.importers.aiconfigurator.versions import version_key
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiling.importers.aiconfigurator.table import Table

PACKAGE = "aiconfigurator_core"
DISTRIBUTION = "aiconfigurator-core"


@dataclass(frozen=True)
class SystemsTree:
    """A folder of systems.

    Attributes:
        root: The folder that holds `<system>.yaml` and `data`.
        source: What it is, for the provenance.
        prefix: What precedes the places of its files inside the source.
    """

    root: Path
    source: str
    prefix: str = ""

    def systems(self) -> list[str]:
        """Systems with data, sorted."""
        return [path.name for path in _folders(self.root / "data") if _folders(path)]

    def stacks(self, system: str, tables: Iterable[Table]) -> list[str]:
        """Stacks that have any of the tables on a system, sorted."""
        found = {
            folder.name
            for table in tables
            if not table.libraries
            for folder in _folders(self.root / "data" / system / table.family)
            if self.versions(system, table, folder.name)
        }
        return sorted(found - {library for table in tables for library in table.libraries})

    def versions(self, system: str, table: Table, folder: str) -> list[str]:
        """Versions of a stack or library that have the table, or reuse one, oldest first."""
        there = _folders(self.root / "data" / system / table.family / folder)
        having = [path.name for path in there if _has(path, table)]
        return sorted(having, key=version_key)

    def version_folder(self, system: str, table: Table, folder: str, version: str) -> Path:
        """Where the files of a version lie."""
        return self.root / "data" / system / table.family / folder / version

    def shown(self, path: Path) -> str:
        """A file's place inside the source."""
        return self.prefix + path.relative_to(self.root).as_posix()


def installed_tree() -> SystemsTree:
    """The installed wheel's systems. The package itself is not imported.

    Raises:
        ServingSimError: E_TOOLCHAIN with the extra to install.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ServingSimError(
            f"the package {DISTRIBUTION} with the measured tables is not installed",
            code="E_TOOLCHAIN",
            hint=f"{INSTALL} (Python 3.11 to 3.13), or point --systems-dir or --data-dir at tables",
        )
    root = Path(spec.submodule_search_locations[0]) / "systems"
    return SystemsTree(
        root, f"{DISTRIBUTION} {importlib.metadata.version(DISTRIBUTION)}", f"{PACKAGE}/systems/"
    )


def tree_at(folder: str) -> SystemsTree:
    """A folder of the same layout.

    Raises:
        ServingSimError: E_PATH, when it is no such folder.
    """
    root = Path(folder)
    if not (root / "data").is_dir():
        raise ServingSimError(
            "is no folder of systems",
            code="E_PATH",
            path=folder,
            known="it holds <system>.yaml files and data/<system>/<family>/<stack>/<version>/",
            hint="for a folder of loose tables use --data-dir",
        )
    return SystemsTree(root, f"systems folder {root.resolve().name}")


def _has(folder: Path, table: Table) -> bool:
    names = {path.name.partition(".")[0] for path in folder.iterdir()}
    return bool(names & set(table.stems)) or (folder / "reuse.yaml").is_file()


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(
        child for child in path.iterdir() if child.is_dir() and not child.name.startswith((".", "_"))
    )
