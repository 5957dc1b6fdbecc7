"""Answers which kernel kinds exist, the workspace's included: runs in a process of its own."""

from __future__ import annotations

from typing import Any

from skills.subject import serve


def kinds(_request: dict[str, Any]) -> dict[str, Any]:
    """Args of every kind, by its name."""
    from servingsim.timing.registry import kernels  # noqa: PLC0415 - imports what the workspace holds

    return {"kinds": {name: list(kind.args) for name, kind in kernels().items()}}


if __name__ == "__main__":
    serve({"kinds": kinds})
