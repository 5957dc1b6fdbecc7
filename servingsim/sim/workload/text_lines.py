"""Lines of text files from outside, none longer than a request can be: memory stays bounded whatever the file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def text_lines(path: Path, longest: int) -> Iterator[str]:
    """Every line with its end.

    Args:
        path: The file; a byte order mark is skipped.
        longest: Characters that a line may have.

    Raises:
        ServingSimError: E_NOT_FOUND, E_PATH; a longer line, or bytes that are no UTF-8, with the line's number.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            while line := file.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    raise ServingSimError(
                        f"line {number} has more than {longest} characters", code="E_LIMIT", path=str(path)
                    )
                yield line
    except FileNotFoundError as error:
        raise ServingSimError("no such file", code="E_NOT_FOUND", path=str(path)) from error
    except OSError as error:
        raise ServingSimError(f"cannot be read: {error.strerror}", code="E_PATH", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise ServingSimError(
            f"line {number + 1}: {error.reason}", known="text in UTF-8", path=str(path)
        ) from error
