"""The marked blocks of the README, which commands write and nobody types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

README = Path("README.md")


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


def readme(root: Path) -> str:
    """The README's text.

    Raises:
        ServingSimError: E_PATH, there is none.
    """
    path = root / README
    if not path.is_file():
        raise ServingSimError(
            "no README.md here", code="E_PATH", path=str(root), hint="run in the checkout, or name it: --root"
        )
    return path.read_text(encoding="utf-8")
