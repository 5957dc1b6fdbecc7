"""`servingsim serve` with the tests' own tools beside the registry's, as a program."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from server import cli
from server.tool import tools


def main() -> None:
    """Serve, with the options that this program is given."""
    spec = importlib.util.spec_from_file_location("probes", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    probes = importlib.util.module_from_spec(spec)
    sys.modules["probes"] = probes
    spec.loader.exec_module(probes)
    tools().update({each.name: each for each in probes.probe_tools(probes.Seen())})
    cli.main(["serve", *sys.argv[1:]])


if __name__ == "__main__":
    main()
