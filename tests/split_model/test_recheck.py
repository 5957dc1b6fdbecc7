"""A report whose figures were edited is caught, whatever lies in the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.tools.split_model import TOOL
from skills.split_model.schema import SplitReport
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable

    from skills.desk import Desk
    from skills.report import Criterion

    Split = Callable[..., SplitReport]

DECODE = [{"phase": "decode", "batch": 4, "context": 100}]


@pytest.fixture(scope="module")
def honest(split: Split) -> dict[str, Any]:
    return split(model="qwen3-0.6b", phases=DECODE, without_capture=True).model_dump(mode="json")


def again(data: dict[str, Any], desk: Desk) -> Criterion:
    assert TOOL.recheck is not None
    found: list[Criterion] = TOOL.recheck(SplitReport.model_validate(data), desk, Unwatched())
    return next(each for each in found if each.id == "split.recheck")


def test_an_honest_report_holds(honest: dict[str, Any], desk: Desk) -> None:
    assert again(honest, desk).status == "pass"


@pytest.mark.slow
@pytest.mark.long
def test_an_edited_verdict_is_named(honest: dict[str, Any], desk: Desk) -> None:
    rows = [row | ({"verdict": "fold"} if row["op"] == "attention.rope" else {}) for row in honest["rows"]]
    found = again(honest | {"rows": rows}, desk)
    assert (found.status, "verdict" in found.evidence) == ("fail", True)


@pytest.mark.slow
@pytest.mark.long
def test_a_row_taken_out_is_named(honest: dict[str, Any], desk: Desk) -> None:
    found = again(honest | {"rows": honest["rows"][1:]}, desk)
    assert (found.status, "rows:" in found.evidence) == ("fail", True)


def test_an_edited_figure_is_caught_though_the_kept_trace_is_gone_wrong(
    honest: dict[str, Any], desk: Desk
) -> None:
    """Caught: a forged trace in the workspace that agrees with a forged report."""
    kept = sorted((desk.state / "traces").glob("*.json"))
    before = {file: file.read_bytes() for file in kept}
    for file in kept:
        file.write_text('{"ops": [], "parameters": 1, "torch": "0", "transformers": "0"}', encoding="utf-8")
    trace = honest["trace"] | {"operations": 0}
    try:
        found = again(honest | {"trace": trace}, desk)
    finally:
        for file, content in before.items():
            file.write_bytes(content)
    assert (found.status, "trace.operations" in found.evidence) == ("fail", True)
