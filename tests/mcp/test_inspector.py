"""The protocol's own Inspector looks at the server as a stranger does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from server.tool import tools

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.conftest import Inspect

pytestmark = pytest.mark.slow

PATIENCE_S = 60
TOOL_FAILED = 5


@pytest.fixture(params=["legacy", "modern"])
def inspect(
    node: Path, tmp_path: Path, request: pytest.FixtureRequest, node_environment: dict[str, str]
) -> Inspect:
    """Runs the Inspector on a server of its own; its exit code, its answer and what it said beside."""

    def run(*options: str) -> tuple[int, Any, str]:
        server = [sys.executable, "-m", "server.cli", "serve"]
        era = ["--protocol-era", request.param, "--format", "json"]
        done = subprocess.run(
            [str(node / "mcp-inspector"), "--cli", *server, *options, *era],
            cwd=tmp_path,
            env=node_environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        printed = json.loads(done.stdout)
        return done.returncode, printed.get("result", printed), done.stderr

    return run


def test_every_schema_passes_the_strict_rules(inspect: Inspect) -> None:
    """Some clients lose the whole list of tools over one schema that they do not know."""
    code, printed, said = inspect("--method", "tools/list", "--strict")
    assert code == 0
    assert not said
    assert [each["name"] for each in printed["tools"]] == list(tools())


def test_a_call_and_a_refusal_arrive_whole(inspect: Inspect) -> None:
    code, _, _ = inspect("--method", "tools/call", "--tool-name", "job_wait", "--tool-args-json", "{}")
    assert code == 0
    code, printed, _ = inspect(
        "--method", "tools/call", "--tool-name", "job_wait", "--tool-args-json", '{"no_such_field": 1}'
    )
    assert code == TOOL_FAILED
    assert "E_INPUT" in json.dumps(printed)


def test_a_resource_is_read(inspect: Inspect) -> None:
    code, printed, _ = inspect("--method", "resources/read", "--uri", "servingsim://schemas/predict")
    assert code == 0
    assert "additionalProperties" in json.dumps(printed)
