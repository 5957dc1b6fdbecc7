"""Modules of the `gpu-data` extra, imported only when an import runs."""

from __future__ import annotations

import importlib
from typing import Any

from servingsim.errors import ServingSimError

INSTALL = "pip install 'servingsim[gpu-data]'"


def module(name: str) -> Any:  # noqa: ANN401 - a module without types
    """Import a module of the extra.

    Raises:
        ServingSimError: E_TOOLCHAIN with the extra to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ServingSimError(
            f"cannot import {name}: {error}",
            code="E_TOOLCHAIN",
            known="measured tables are read with pyarrow and pyyaml",
            hint=INSTALL,
        ) from error
