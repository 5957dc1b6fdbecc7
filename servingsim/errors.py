"""The one error of this project: facts in, message out.

Every refusal that a user can cause is a `ServingSimError`. The command line prints it and exits 2; a server
returns `facts()` as structured content. A subclass exists only where a caller acts differently on it.
"""

from __future__ import annotations

from typing import Literal

ErrorCode = Literal[
    "E_INPUT",
    "E_NOT_FOUND",
    "E_STATE",
    "E_PATH",
    "E_TOOLCHAIN",
    "E_NO_GPU",
    "E_TIMEOUT",
    "E_CANCELLED",
    "E_LIMIT",
    "E_COVERAGE",
    "E_INTERNAL",
]


class ServingSimError(Exception):
    """What was wrong, with which value, what is known, and what to do next.

    Args:
        what: One sentence that names the thing and the offending value.
        code: Closed set, stable for programs.
        known: What would have been accepted (limits, known names), if that helps.
        hint: The next step: a command, a field to change.
        path: The file or field that the fault lies in.
    """

    def __init__(
        self, what: str, *, code: ErrorCode = "E_INPUT", known: str = "", hint: str = "", path: str = ""
    ) -> None:
        self.what = what
        self.code: ErrorCode = code
        self.known = known
        self.hint = hint
        self.path = path
        super().__init__(what, code, known, hint, path)

    def __str__(self) -> str:
        parts = [f"{self.path}: {self.what}" if self.path else self.what]
        if self.known:
            parts.append(f"known: {self.known}")
        if self.hint:
            parts.append(f"next: {self.hint}")
        return "\n  ".join(parts)

    def facts(self) -> dict[str, str]:
        """The same as data, for structured content."""
        return {
            "code": self.code,
            "message": self.what,
            "known": self.known,
            "hint": self.hint,
            "path": self.path,
        }

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the way back from a worker process with every field."""
        return _rebuild, (type(self), self.what, self.code, self.known, self.hint, self.path)


def _rebuild(
    cls: type[ServingSimError], what: str, code: ErrorCode, known: str, hint: str, path: str
) -> ServingSimError:
    return cls(what, code=code, known=known, hint=hint, path=path)


class CoverageError(ServingSimError):
    """A question that the measured rows cannot answer: the caller may estimate, measure or refuse.

    Takes the same facts; the code is always E_COVERAGE.
    """

    def __init__(
        self, what: str, *, code: ErrorCode = "E_COVERAGE", known: str = "", hint: str = "", path: str = ""
    ) -> None:
        super().__init__(what, code=code, known=known, hint=hint, path=path)
