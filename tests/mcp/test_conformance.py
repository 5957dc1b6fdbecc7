"""The protocol's own conformance suite runs against the server over HTTP."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mcp.conftest import Served

pytestmark = pytest.mark.slow

PATIENCE_S = 120
WITHOUT_FIXTURES = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-session-lifecycle",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "caching",
        "http-header-validation",
        "dns-rebinding-protection",
        "input-required-result-unsupported-methods",
    ),
}
"""Scenarios that ask for no tool or resource of a given name."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("version", WITHOUT_FIXTURES)
def test_the_server_conforms_where_a_scenario_asks_for_no_fixture(
    node: Path,
    node_environment: dict[str, str],
    serve_http: Callable[..., Served],
    tmp_path: Path,
    version: str,
) -> None:
    served = serve_http()
    failed = {}
    for scenario in WITHOUT_FIXTURES[version]:
        done = subprocess.run(
            [
                *[str(node / "conformance"), "server", "--url", served.url, "--scenario", scenario],
                *["--spec-version", version, "--output-dir", str(tmp_path / scenario)],
            ],
            cwd=tmp_path,
            env=node_environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if done.returncode:
            failed[scenario] = done.stdout[-1500:] + done.stderr[-500:]
    assert not failed


@pytest.mark.parametrize(
    "version",
    [
        # The older era has fewer scenarios of its own; the default run plays the newer one.
        pytest.param(each, marks=(pytest.mark.slow, pytest.mark.long) if each < "2026" else ())
        for each in WITHOUT_FIXTURES
    ],
)
def test_the_server_conforms_to_all_that_is_required_with_the_suites_fixtures_mounted(
    node: Path,
    node_environment: dict[str, str],
    serve_fixtures: Callable[[], Served],
    tmp_path: Path,
    version: str,
) -> None:
    """Every scenario that a release of the protocol requires; what its suite does not score is not asked for."""
    served = serve_fixtures()
    done = subprocess.run(
        [str(node / "conformance"), "server", "--url", served.url, "--requirements", version],
        cwd=tmp_path,
        env=node_environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    scored = done.stdout.partition("=== SUMMARY ===")[2]
    assert done.returncode == 0, scored
