"""The store that `align` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profiling.paths import default_db
from profiling.source import StoreSource
from server.measuring import open_store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from contextlib import ExitStack


def store_source(db: str | None, opened: ExitStack, *, create: bool) -> StoreSource:
    """Its rows as a source; closed with `opened`.

    Raises:
        ServingSimError: E_NOT_FOUND, and it is not to be created.
    """
    path = Path(db or default_db())
    if not create and not path.exists():
        raise ServingSimError(
            "no such database",
            code="E_NOT_FOUND",
            path=str(path),
            hint="import or measure rows first; a log of iterations takes kernels from --capture without --device",
        )
    return StoreSource(opened.enter_context(open_store(path, create=create)))
