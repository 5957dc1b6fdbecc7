"""Runs a kernel's focused tests, once as it stands and once for each mutant: a process of its own, forked each time.

`python -m skills.wire_kernel.test_child KIND FOLDER` writes one JSON object to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from servingsim.timing import registry
from skills.wire_kernel.mutants import MUTANTS


class _Count:
    """A pytest plugin: outcomes by test."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome


def _run(kind: str, folder: str, mutant: str, answer: Path) -> None:
    """Run the tests in this (forked) process and write what happened."""
    if mutant:
        known = registry.kernels
        make: Any = MUTANTS[mutant]
        registry.kernels = lambda: known() | {kind: make(known()[kind])}
    count = _Count()
    plain = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, "--import-mode=importlib"]
    code = int(pytest.main([*plain, "--tb=line", folder], plugins=[count]))
    answer.write_text(json.dumps({"exit_code": code, "outcomes": count.outcomes}))


def main(kind: str, folder: str) -> None:
    """All runs, one after the other."""
    out = os.dup(1)
    os.dup2(2, 1)
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for index, mutant in enumerate(["", *MUTANTS]):
            answer = Path(scratch, str(index))
            child = os.fork()
            if child == 0:
                try:
                    _run(kind, folder, mutant, answer)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            answers[mutant] = (
                json.loads(answer.read_text()) if answer.is_file() else {"exit_code": -1, "outcomes": {}}
            )
    os.write(out, json.dumps(answers).encode())


if __name__ == "__main__":
    main(*sys.argv[1:3])
