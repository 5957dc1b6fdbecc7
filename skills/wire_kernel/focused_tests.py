"""R.3: the kernel's own tests are read, run, and run again on wrong kernels; kernel-query grid is run."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from skills.wire_kernel import child, snapshot
from skills.wire_kernel.schema import Command

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk
    from skills.watch import Watch
    from skills.wire_kernel.ledger import Ledger
    from skills.wire_kernel.schema import WireRequest

TESTS_TIMEOUT_S = 180.0
QUERY_TIMEOUT_S = 60.0
DECISIVE = ("payload misses fields", "projection shifted", "inverse shifted")


def check_runs(request: WireRequest, ledger: Ledger, desk: Desk, watch: Watch) -> tuple[list[str], list[str]]:
    """Tests and grid query. Returns the mutants that the tests refuse, and those that they let pass."""
    folder = snapshot.test_folder(desk, request.kind)
    _query(request, ledger, desk, watch)
    files = sorted(folder.rglob("test_*.py"))
    if not files:
        ledger.note("R.3-tests", "fail", f"no test_*.py in tests/{request.kind}")
        return [], []
    faults = [fault for path in files for fault in _read(path)]
    ran = child.python(
        "skills.wire_kernel.test_child", [request.kind, str(folder)], desk, watch, timeout_s=TESTS_TIMEOUT_S
    )
    try:
        runs: dict[str, Any] = json.loads(ran.out)
    except ValueError:
        ledger.commands.append(Command(command=ran.shown, exit_code=ran.exit_code))
        ledger.note("R.3-tests", "fail", f"the tests did not end: exit {ran.exit_code}, {ran.tail}")
        return [], []
    plain = runs[""]
    shown = f"pytest tests/{request.kind}"
    ledger.commands.append(Command(command=shown, exit_code=plain["exit_code"]))
    outcomes = plain["outcomes"]
    passed = [name for name, outcome in outcomes.items() if outcome == "passed"]
    if plain["exit_code"] != 0 or len(passed) != len(outcomes) or not passed:
        faults.insert(
            0, f"{shown}: exit {plain['exit_code']}, {len(passed)} of {len(outcomes)} passed; {ran.tail}"
        )
    ledger.judge("R.3-tests", faults, f"{shown}: exit 0, {len(passed)} passed")
    killed = [name for name, run in runs.items() if name and run["exit_code"] not in {0, -1}]
    survived = [name for name in runs if name and name not in killed]
    left = [name for name in DECISIVE if name in survived]
    what = f"{len(killed)} of {len(runs) - 1} wrong kernels are refused"
    hint = "find the kernel by servingsim.timing.registry.kernels() and assert its payload, projection and inverse"
    ledger.judge("R.3-tests-bite", [f"{what}; these pass: {', '.join(left)}: {hint}"] if left else [], what)
    return killed, survived


def _read(path: Path) -> list[str]:
    """Test functions that assert nothing about the subject, or name no defect."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        return [f"{path.name}: {error}"]
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            if not _asserts(node):
                faults.append(f"{path.name}:{node.lineno} {node.name} asserts nothing about the kernel")
            if not ast.get_docstring(node):
                faults.append(f"{path.name}:{node.lineno} {node.name} names no defect in a docstring")
    return faults


def _asserts(test: ast.FunctionDef) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            compares = any(isinstance(each, ast.Compare | ast.Call) for each in ast.walk(node.test))
            idle = isinstance(node.test, ast.Compare) and ast.dump(node.test.left) == ast.dump(
                node.test.comparators[0]
            )
            names = any(isinstance(each, ast.Name) for each in ast.walk(node.test))
            if compares and names and not idle:
                return True
        if isinstance(node, ast.With) and any("raises" in ast.unparse(item) for item in node.items):
            return True
    return False


def _query(request: WireRequest, ledger: Ledger, desk: Desk, watch: Watch) -> None:
    query = {"op": "grid", "kind": request.kind, "config": request.shape.config}
    ran = child.python(
        "server.cli", ["kernel-query", json.dumps(query)], desk, watch, timeout_s=QUERY_TIMEOUT_S
    )
    shown = ran.shown.replace("python -m server.cli", "servingsim")
    ledger.commands.append(Command(command=shown, exit_code=ran.exit_code))
    try:
        answer = json.loads(ran.out)
        fields, axes, count = answer["input_fields"], list(answer["grid_axes"]), answer["feasible_count"]
    except (ValueError, KeyError, TypeError):
        ledger.note("R.3-grid-query", "fail", f"exit {ran.exit_code}: {ran.tail}")
        return
    shape = request.shape
    good = ran.exit_code == 0 and sorted(fields) == sorted(shape.input_fields) and axes == shape.axes
    ledger.note(
        "R.3-grid-query",
        "pass" if good else "fail",
        f"exit {ran.exit_code}, input_fields {fields}, grid_axes {axes}, {count} feasible",
    )
