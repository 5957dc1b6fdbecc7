"""Markdown from plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()) -> str:
    """A table; the columns of `numbers` (by index) are set to the right."""
    right = set(numbers)
    rule = ["---:" if index in right else "---" for index in range(len(head))]
    lines = [_line(head), _line(rule), *(_line([cell(text) for text in row]) for row in rows)]
    return "\n".join(lines)


def cell(text: str) -> str:
    """Text that neither ends a cell nor its row."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """Text as it is typed; nothing where there is none."""
    return f"`{text}`" if str(text) else ""


def codes(items: Iterable[object]) -> str:
    """Several of them, in their order."""
    return ", ".join(map(code, items))


def fence(text: str, language: str = "text") -> str:
    """A block of text as it stands."""
    return f"```{language}\n{text.rstrip()}\n```"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
