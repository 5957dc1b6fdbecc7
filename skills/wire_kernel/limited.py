"""Turns into a command under limits of memory and CPU time: `python -m skills.wire_kernel.limited BYTES S -- ARGV`."""

from __future__ import annotations

import os
import resource
import sys


def main(argv: list[str]) -> None:
    """Set the limits, then become the command; they hold for everything that it starts."""
    data_bytes, cpu_s = int(argv[0]), int(argv[1])
    for what, limit in ((resource.RLIMIT_DATA, data_bytes), (resource.RLIMIT_CPU, cpu_s)):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (limit if hard < 0 else min(limit, hard), hard))
    os.execv(argv[3], argv[3:])  # noqa: S606 - our own programs, named by the judge


if __name__ == "__main__":
    main(sys.argv[1:])
