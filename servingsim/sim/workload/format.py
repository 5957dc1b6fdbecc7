"""What a format of request files is, and the choice of one by content."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.workload import formats
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

HEAD_BYTES = 4096


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: As users name it.
        what: One sentence for help texts: columns and units.
        fits: Whether the first bytes of a file, as text, look like it.
        read: File and how many of its first requests (None: all), to a workload; it refuses what it cannot read, with
            the place.
    """

    name: str
    what: str
    fits: Callable[[str], bool]
    read: Callable[[Path, int | None], Workload]


@cache
def all_formats() -> Mapping[str, Format]:
    """Every format by name: one a file of `formats/`."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    found = [importlib.import_module(f"{formats.__name__}.{name}").FORMAT for name in names]
    return {each.name: each for each in found}


def read_workload(path: Path, *, name: str = "", limit: int | None = None) -> Workload:
    """Read a file in the format named, or in the one that its beginning fits.

    Raises:
        ServingSimError: No such file or format; content that fits none; or what its format refuses.
    """
    known = all_formats()
    if name and name not in known:
        raise ServingSimError(
            f"no workload format {shown(name)}", known=", ".join(known), hint=did_you_mean(name, known)
        )
    head = _head(path)
    chosen = [known[name]] if name else [each for each in known.values() if each.fits(head)]
    if not chosen:
        raise ServingSimError(
            f"the file begins with {shown(head[:60])}, which fits no workload format",
            known="; ".join(f"{each.name}: {each.what}" for each in known.values()),
            path=str(path),
        )
    return chosen[0].read(path, limit)


def _head(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for ever
            raise ServingSimError("this is no file", code="E_PATH", path=str(path))
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ServingSimError(f"cannot be read: {reason}", code="E_PATH", path=str(path)) from error
    if not head.strip():
        raise ServingSimError("the file is empty", path=str(path))
    return head
