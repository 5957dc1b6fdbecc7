"""The catalogue of a stack, by the stack's name: each file of this folder that defines a `CATALOGUE`."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from skills.split_model.catalogue.entry import Catalogue


@cache
def catalogues() -> dict[str, Catalogue]:
    """Every catalogue by its stack's name; read from the package alone, never from a workspace."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    modules = (importlib.import_module(f"{__package__}.{file.stem}") for file in files)
    found = [each.CATALOGUE for each in modules if hasattr(each, "CATALOGUE")]
    return {each.stack: each for each in found}


def catalogue_of(stack: str) -> Catalogue:
    """The catalogue of a stack.

    Raises:
        ServingSimError: E_NOT_FOUND with the known stacks.
    """
    known = catalogues()
    if stack not in known:
        raise ServingSimError(
            f"stack {stack!r}: what it fuses is not in the catalogue",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint=did_you_mean(stack, known) or "split for a known stack",
            path="stack",
        )
    return known[stack]
