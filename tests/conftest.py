"""Shared fixtures: where the real data lies, and which machine this is."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

collect_ignore = ["fixtures"]
"""Tests in there are material: they need a workspace around them."""
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real data set beside the checkout; the test skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real data set is not there: {SHARED_DATA.name} beside the checkout's folder")
    return SHARED_DATA


def pytest_configure() -> None:
    """A shell's background job ignores Ctrl-C, and so would every process that a test starts from one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


COMPILES = ("accuracy", "align", "cost_tree", "properties", "server", "sim", "timing")
"""Rooms, by how their names begin, whose tests run the compiled loop."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first, so that no worker is left with one at the end; then those that run the compiled loop.

    A clean checkout compiles it once where one worker has them all, and once for each worker where they are
    spread.
    """

    def place(item: pytest.Item) -> tuple[bool, bool]:
        slow = item.get_closest_marker("slow") is not None
        return not slow, not item.path.parent.name.startswith(COMPILES)

    items.sort(key=place)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their length: a packed stream holds the second in which it was made.

    The processes of one run collect on their own, and ids that differ between them end the run.
    """
    return f"{argname}-{len(val)}-bytes" if isinstance(val, bytes) else None
