"""Python 3.15 has a standard-library package called `profiling`: ours must never be mistaken for it."""

from __future__ import annotations

from pathlib import Path

import profiling
from profiling import contract


def test_the_name_profiling_resolves_to_this_package() -> None:
    """Defect: on an unsupported Python, or beside a folder of that name, another package answers the
    imports.
    """
    ours = Path(contract.__file__).parent
    found = [Path(place) for place in profiling.__path__]
    assert found == [ours], (
        f"`import profiling` finds {found}, not {ours}: Python 3.15 ships a standard-library package of that "
        "name, which is why requires-python ends below it"
    )
    assert (ours / "kernels" / "single_gemm.py").is_file()


def test_no_module_is_named_like_one_of_the_standard_package() -> None:
    """Defect: `profiling.sampling` and `profiling.tracing` are the names that the standard package has."""
    folder = Path(contract.__file__).parent
    taken = [
        name for name in ("sampling", "tracing") for path in folder.glob(f"{name}*") if path.stem == name
    ]
    assert taken == []
