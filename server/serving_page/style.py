"""The look of the page: the split page's sheet, with the colours of a time split and of plots."""

from __future__ import annotations

from server.split_page.style import style_sheet as shared_sheet

COLOURS = {
    "necessary": ("#2b8a3e", "#69db7c"),
    "batching": ("#3566c8", "#7aa2f7"),
    "kernels": ("#b7610f", "#f0a35e"),
    "communication": ("#b32d52", "#f7768e"),
    "host": ("#7d44c4", "#bb9af7"),
    "undivided": ("#64748b", "#94a3b8"),
    "imbalance": ("#0a7f7c", "#4fd1c5"),
    "idle": ("#d5d9de", "#3a4049"),
    "one": ("#3566c8", "#7aa2f7"),
    "two": ("#b7610f", "#f0a35e"),
    "three": ("#0a7f7c", "#4fd1c5"),
    "four": ("#7d44c4", "#bb9af7"),
}
"""Of each part and line: on light ground, on dark. Every use has its name beside it."""
LINES = ("one", "two", "three", "four")

RULES = """
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:16px}
.plots figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
svg{width:100%;height:auto;display:block;margin-top:8px}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}
svg .grid{stroke:var(--line);stroke-width:1}
svg .curve{fill:none;stroke-width:2;stroke-linejoin:round}
svg .area{opacity:.14;stroke:none}
table.ops td:first-child{width:120px}
"""


def style_sheet() -> str:
    """The style sheet, with the colours in."""
    light = "".join(f"--s-{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--s-{name}:{pair[1]};" for name, pair in COLOURS.items())
    fills = "".join(f".s-{name}{{background:var(--s-{name})}}" for name in COLOURS)
    own = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{fills}{RULES}"
    return shared_sheet() + own
