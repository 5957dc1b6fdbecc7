"""The op's own tests: run in a limited process, read for assertions, and run again against emptied helpers."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profiling.discovery import PACKAGE_ROOT
from skills.compose_op.verdict import judged, said
from skills.desk import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from skills.compose_op.places import Places
    from skills.report import Criterion, Status

TIMEOUT_S = 60.0
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Of the environment: tests see no tokens and no settings of the caller."""
OPTIONS = ("-q", "-x", "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider", "-c", os.devnull)
TAIL_CHARACTERS = 300


@dataclass(frozen=True)
class Outcome:
    """One run of pytest; `exit_code` None where it was ended for taking too long."""

    command: str
    exit_code: int | None
    passed: int
    tail: str


def test_criteria(places: Places, helpers: list[str]) -> tuple[list[Criterion], Outcome | None]:
    """Run and read the tests.

    Args:
        places: The op's files.
        helpers: Names of the pure helpers that the tests have to cover.
    """
    if not places.tests:
        status: Status = "unverified" if places.shipped else "fail"
        why = "no test file" + (": the installed package comes without its tests" if places.shipped else "")
        return [said("unit-tests", status, why), said("unit-tests-assert", status, why)], None
    outcome = run_tests(places.root, places.tests, None if places.shipped else places.root)
    if "No module named 'pytest'" in outcome.tail:
        why = "pytest is not installed: pip install pytest"
        return [said("unit-tests", "unverified", why), said("unit-tests-assert", "unverified", why)], outcome
    names, hollow = _read(places.tests)
    seen = f"{outcome.command}: exit code {outcome.exit_code}, {outcome.passed} passed"
    faults = []
    if outcome.exit_code != 0 or outcome.passed < max(1, len(names)):
        faults.append(f"{seen} of {len(names)} tests; {outcome.tail}")
    if not faults and not hollow and not places.shipped:
        hollow = [f"tests pass with {name} emptied" for name in helpers if _unnoticed(places, name)]
    noticed = "" if places.shipped else "; tests fail with any helper emptied"
    return [
        judged("unit-tests", faults, seen),
        judged("unit-tests-assert", hollow, f"{len(names)} tests assert{noticed}")
        if not faults or hollow
        else said("unit-tests-assert", "unverified", "the tests fail as they are"),
    ], outcome


def run_tests(root: Path, tests: tuple[Path, ...], workspace: Path | None) -> Outcome:
    """Pytest on some files, in a process group of its own, ended after TIMEOUT_S."""
    files = [path.relative_to(root).as_posix() for path in tests]
    arguments = [*OPTIONS, "--rootdir", str(root), *files]
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "skills.compose_op.pytest_child", *arguments],
        cwd=root,
        env=_environment(workspace),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    code: int | None
    try:
        output, _ = child.communicate(timeout=TIMEOUT_S)
        code = child.returncode
    except subprocess.TimeoutExpired:
        output, code = b"took too long and was ended", None
    finally:
        _end(child)
    text = output.decode(errors="replace")
    found = re.search(r"(\d+) passed", text)
    return Outcome(f"pytest {' '.join(files)}", code, int(found[1]) if found else 0, _tail(text))


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the tests and whatever they started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _environment(workspace: Path | None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    if str(PACKAGE_ROOT) not in site.getsitepackages():
        kept["PYTHONPATH"] = str(PACKAGE_ROOT)
    if workspace is not None:
        kept[WORKSPACE_VARIABLE] = str(workspace)
    return kept | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _read(tests: tuple[Path, ...]) -> tuple[list[str], list[str]]:
    """Names of the tests, and what asserts nothing."""
    names, hollow = [], []
    for path in tests:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError as error:
            hollow.append(f"{path.name}:{error.lineno}: no Python")
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                names.append(node.name)
                if not any(_asserts(inner) for inner in ast.walk(node)):
                    hollow.append(f"{path.name}:{node.lineno}: {node.name} asserts nothing")
    return names, hollow if names else [*hollow, "no test function"]


def _asserts(node: ast.AST) -> bool:
    """An assertion about something: neither of constants alone nor of a thing with itself."""
    if isinstance(node, ast.Assert):
        if isinstance(node.test, ast.Compare):
            sides = [ast.dump(each) for each in (node.test.left, *node.test.comparators)]
            if len(set(sides)) == 1:
                return False
        return any(isinstance(inner, ast.Name) for inner in ast.walk(node.test))
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("raises")


def _unnoticed(places: Places, helper: str) -> bool:
    """Whether the tests still pass on a copy whose helper gives nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        for name in ("servingsim", "profiling"):
            if (places.root / name).is_dir():
                shutil.copytree(places.root / name, copy / name)
        for path in places.tests:
            goal = copy / path.relative_to(places.root)
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, goal)
        code = copy / places.code.relative_to(places.root)
        code.write_text(_emptied(places.code.read_text(encoding="utf-8"), helper), encoding="utf-8")
        tests = tuple(copy / path.relative_to(places.root) for path in places.tests)
        return run_tests(copy, tests, copy).exit_code == 0


def _emptied(source: str, helper: str) -> str:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == helper:
            node.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(ast.fix_missing_locations(tree))


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-6:])[-TAIL_CHARACTERS:]
