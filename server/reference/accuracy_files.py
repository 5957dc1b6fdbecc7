"""The files that come from kept claims: the page, the README's table, and the errors that predictions print."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from server.reference.accuracy_claims import PAGE, VALIDATED
from server.reference.accuracy_page import accuracy_page, headline_block
from server.reference.blocks import README, readme, with_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from server.reference.accuracy_claims import AccuracyFigures


def accuracy_files(root: Path, figures: AccuracyFigures) -> dict[Path, str]:
    """Text of each by its place below the checkout."""
    return {**pages_of(figures), README: with_blocks(readme(root), {"accuracy": headline_block(figures)})}


def pages_of(figures: AccuracyFigures) -> dict[Path, str]:
    """Those that are written whole."""
    records = json.dumps(figures.records(), indent=1, sort_keys=True)
    return {PAGE: accuracy_page(figures), VALIDATED: f"{records}\n"}
