"""Configs that come with the package, by name: the facts that cost depends on, as published."""

from __future__ import annotations

from pathlib import Path

from servingsim.errors import ServingSimError

FOLDER = Path(__file__).parent


def bundled() -> dict[str, Path]:
    """The files by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.json"))}


def config_path(model: str | Path) -> Path:
    """The config.json that a user means: a path that exists, else a bundled name.

    Raises:
        ServingSimError: E_NOT_FOUND, it is neither.
    """
    path = Path(model)
    if path.exists():
        return path
    named = bundled().get(str(model).lower())
    if named is None:
        raise ServingSimError(
            f"no config at {str(model)!r}, and no bundled model of that name",
            code="E_NOT_FOUND",
            known=", ".join(bundled()),
            hint="give the path of a config.json or its folder",
        )
    return named
