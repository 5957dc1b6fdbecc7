"""HTML that cannot be broken out of: every text is escaped unless it was built here."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from server.split_page.figures import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VOID = frozenset({"meta", "br", "hr", "rect", "line"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """One element; children that are no `Html` are text. `class_` is the class, `_` in a name a hyphen."""
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(shown(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Html(f"<{tag}{named}>")
    return Html(f"<{tag}{named}>{joined(children)}</{tag}>")


def joined(parts: Iterable[object]) -> Html:
    """Parts one after the other."""
    return Html("".join(part if isinstance(part, Html) else html.escape(shown(part)) for part in parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], **attributes: object) -> Html:
    """A table with one head row; a cell that is an `Html` cell (`td`) stays as it is."""
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in heads)))
    body = el("tbody", *(el("tr", *map(cell, row)) for row in rows))
    return el("div", el("table", head, body, **attributes), class_="scroll")


def cell(content: object) -> Html:
    """Content as a cell."""
    if isinstance(content, Html) and content.startswith("<td"):
        return content
    return el("td", content)


def number(text: object) -> Html:
    """A cell of digits, right-aligned."""
    return el("td", text, class_="num")
