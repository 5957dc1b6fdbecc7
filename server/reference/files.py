"""Which files are generated, and whether what lies there is what would be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from server.reference.commands import command_page
from server.reference.figures import blocks
from server.reference.kernels import kernel_page
from server.reference.schemas import FOLDER, schema_files
from server.reference.tools import tool_page
from server.schema_files import published
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

README = Path("README.md")


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
        README: with_blocks(_readme(root), blocks(kept)),
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


def with_blocks(text: str, new: Mapping[str, str]) -> str:
    """The text with what lies between `<!-- NAME:begin -->` and `<!-- NAME:end -->` replaced.

    Raises:
        ServingSimError: E_STATE, a block's markers are not there exactly once.
    """
    for name, block in new.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        head, _, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not closed or text.count(begin) != 1 or text.count(end) != 1:
            raise ServingSimError(
                f"the block {name!r} is not there once",
                code="E_STATE",
                path=str(README),
                hint=f"put {begin} and {end} where it belongs",
            )
        text = f"{head}{begin}\n{block}\n{end}{tail}"
    return text


def _readme(root: Path) -> str:
    path = root / README
    if not path.is_file():
        raise ServingSimError(
            "no README.md here", code="E_PATH", path=str(root), hint="run in the checkout, or name it: --root"
        )
    return path.read_text(encoding="utf-8")


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text(encoding="utf-8") != text
