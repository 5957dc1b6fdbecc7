"""`reuse.yaml`: a version that stands on the measurements of another one.

Each entry names a table and the version to take it from. A version with a file of its own keeps its own rows; the
named one adds the shapes that it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.file_reader import SUFFIXES
from profiling.importers.aiconfigurator.yaml_file import read_mapping, text
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

REUSE_FILE = "reuse.yaml"


def table_files(version_folder: Path, stem: str) -> list[Path]:
    """Files of a table for a version: its own first, then those that it reuses, each once.

    Raises:
        ServingSimError: E_STATE, when reuse files name each other and none has the table, or name a version that
            is not there.
    """
    files: list[Path] = []
    visited: list[str] = []
    waiting = [version_folder.name]
    while waiting:
        version = waiting.pop(0)
        if version in visited:
            continue
        visited.append(version)
        folder = version_folder.parent / version
        files += _own_file(folder, stem)
        waiting += _reused(folder, stem)
    if not files and len(visited) > 1:
        raise ServingSimError(
            f"{REUSE_FILE} leads from {' to '.join(visited)}, and none of them has {stem}",
            code="E_STATE",
            path=str(version_folder / REUSE_FILE),
            hint="leave the table out with --table, or choose another --version",
        )
    return files


def _own_file(folder: Path, stem: str) -> list[Path]:
    return [folder / f"{stem}{suffix}" for suffix in SUFFIXES if (folder / f"{stem}{suffix}").is_file()][:1]


def _reused(folder: Path, stem: str) -> list[str]:
    entries = read_mapping(folder / REUSE_FILE).get("reuse")
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ServingSimError(
            "reuse is not a list of entries with table and from_version",
            path=str(folder / REUSE_FILE),
            hint="correct the file, or install the data anew",
        )
    named = [text(entry.get("from_version")) for entry in entries if text(entry.get("table")) == stem]
    for version in named:
        _check_sibling(folder, version)
    return named


def _check_sibling(folder: Path, version: str) -> None:
    """A version that is a plain name of a folder beside this one: no path may lead out of the data."""
    if (
        version in {"", ".", ".."}
        or "/" in version
        or "\\" in version
        or not (folder.parent / version).is_dir()
    ):
        raise ServingSimError(
            f"{REUSE_FILE} names version {version!r}, which is not there",
            code="E_STATE",
            path=str(folder / REUSE_FILE),
            known=", ".join(sorted(path.name for path in folder.parent.iterdir() if path.is_dir())),
            hint="leave the table out with --table, or choose another --version",
        )
