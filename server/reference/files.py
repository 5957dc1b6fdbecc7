"""Which files are generated, and whether what lies there is what would be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from server.reference.blocks import README, readme, with_blocks
from server.reference.commands import command_page
from server.reference.figures import accuracy_pages, blocks
from server.reference.kernels import kernel_page
from server.reference.schemas import FOLDER, schema_files
from server.reference.tools import tool_page
from server.schema_files import published

if TYPE_CHECKING:
    from collections.abc import Mapping


def generated(root: Path, kept: Mapping[Path, str]) -> dict[Path, str]:
    """Text of every generated file by its path below `root`; of the README with its marked blocks renewed.

    Args:
        root: The checkout.
        kept: The figures that the README shows, see `figures.kept_files`.

    Raises:
        ServingSimError: No README or no markers in it, or a definition that cannot be loaded.
    """
    return {
        Path("docs/cli.md"): command_page(),
        Path("docs/kernels.md"): kernel_page(),
        Path("docs/tools.md"): tool_page(),
        README: with_blocks(readme(root), blocks(kept)),
        **accuracy_pages(kept),
        **kept,
        **schema_files(),
        **{FOLDER / place: text for place, text in published().items()},
    }


def write(root: Path, files: Mapping[Path, str]) -> None:
    """Write the files, and remove schemas that nothing makes any more."""
    for place in leftover(root, files):
        (root / place).unlink()
    for place, text in files.items():
        path = root / place
        if _differs(path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def stale(root: Path, files: Mapping[Path, str]) -> list[Path]:
    """Files that differ from what would be written, are missing, or should not be there."""
    return sorted(
        [place for place, text in files.items() if _differs(root / place, text)] + leftover(root, files)
    )


def leftover(root: Path, files: Mapping[Path, str]) -> list[Path]:
    """Schemas that nothing makes any more. Those of reports stay: old reports are read by them."""
    there = (path.relative_to(root) for path in sorted((root / FOLDER).rglob("*.json")))
    return [place for place in there if place not in files and place.parent != FOLDER / "reports"]


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text(encoding="utf-8") != text
