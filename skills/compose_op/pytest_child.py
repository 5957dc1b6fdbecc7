"""Runs an op's unit tests with limits on memory and file size: `python -m skills.compose_op.pytest_child FILE...`."""

from __future__ import annotations

import resource
import sys

MEMORY_BYTES = 4 * 2**30
FILE_BYTES = 2**26


def main() -> int:
    """Pytest's exit code."""
    import pytest  # noqa: PLC0415 - where it is not installed the parent learns it from the message

    for what, limit in ((resource.RLIMIT_DATA, MEMORY_BYTES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (limit if hard < 0 else min(limit, hard), hard))
    return int(pytest.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
