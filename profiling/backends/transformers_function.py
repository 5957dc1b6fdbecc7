"""A function of the installed Transformers, by its module and name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable


def function_of(module: str, name: str) -> Callable[..., Any]:
    """The function.

    Raises:
        ServingSimError: E_TOOLCHAIN, where the installed version has none.
    """
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    if found is None:
        raise ServingSimError(
            f"the installed Transformers has no {name} in {module}",
            code="E_TOOLCHAIN",
            hint="install Transformers 5, or use the backend torch",
        )
    return found
