"""YAML files beside the tables: a mapping at the top, or a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profiling.importers.aiconfigurator.optional import module
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BYTES = 4 * 2**20
"""The largest file of its kind is 60 KB; aliases in a small hostile one can still not grow without limit."""


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a file, empty where there is no file.

    Raises:
        ServingSimError: E_INPUT, when the file is no YAML mapping; E_PATH, when it cannot be read.
    """
    yaml = module("yaml")
    try:
        if not path.exists():
            return {}
        with path.open("rb") as stream:
            found = yaml.safe_load(stream.read(MAX_BYTES))
    except OSError as error:
        raise _refused(path, str(error.strerror or error), code="E_PATH") from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise _refused(path, text) from error
    if not isinstance(found, dict):
        raise _refused(path, f"holds a {type(found).__name__} at its top")
    return {str(name): value for name, value in found.items()}


def mapping(value: object) -> Mapping[str, Any]:
    """A nested mapping, empty where the value is something else."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """A scalar as text, empty where the value is something else or absent."""
    return "" if value is None or isinstance(value, (dict, list)) else str(value)


def _refused(path: Path, why: str, *, code: Any = "E_INPUT") -> ServingSimError:  # noqa: ANN401 - an ErrorCode
    return ServingSimError(
        f"is not usable: {why}",
        code=code,
        path=str(path),
        known="a YAML mapping",
        hint="correct the file, or install the data anew",
    )
