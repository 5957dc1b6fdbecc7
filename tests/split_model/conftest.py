"""One desk for the session, so that each model is traced once, and the tool's own door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.tools.split_model import TOOL
from servingsim.validation import parse
from skills.desk import Desk
from skills.split_model.schema import SplitReport, SplitRequest
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Split = Callable[..., SplitReport]


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A place of work whose roots hold nothing but what a test writes."""
    folder = tmp_path_factory.mktemp("split")
    return Desk(folder / "workspace", folder / "rows.db", (folder,))


@pytest.fixture(scope="session")
def split(desk: Desk) -> Split:
    """The tool, with its input validated as at every door."""

    def call(**arguments: Any) -> SplitReport:  # noqa: ANN401 - the tool's JSON arguments
        report = TOOL.run(parse(SplitRequest, arguments, where="split_model"), desk, Unwatched())
        assert isinstance(report, SplitReport)
        return report

    return call


@pytest.fixture
def root(desk: Desk) -> Path:
    """Where files may be read."""
    return desk.roots[0]
