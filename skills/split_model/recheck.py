"""A submitted report made again: the model is traced afresh, and what differs from the claim is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.report import Criterion
from skills.split_model.run import run

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.split_model.schema import SplitReport
    from skills.watch import Watch

SHOWN = 8


def recheck(report: SplitReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """What the same request gives now, with one more criterion: that the report says the same.

    What is kept of an earlier trace is not asked: it lies where the report's author writes.
    """
    now = run(report.request, desk, watch, fresh=True)
    differing = _differences(report.model_dump(mode="json"), now.model_dump(mode="json"))
    shown = "; ".join(differing[:SHOWN]) + (
        f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    )
    return [
        Criterion(
            id="split.recheck",
            text="the split made again says what the report says",
            status="fail" if differing else "pass",
            evidence=shown or f"{len(now.rows)} rows and every figure are the same",
        ),
        *now.criteria,
    ]


def _differences(claimed: object, found: object, at: str = "") -> list[str]:
    """Places where two plain values differ."""
    if isinstance(claimed, dict) and isinstance(found, dict):
        names = sorted(claimed.keys() | found.keys())
        return [
            text
            for name in names
            for text in _differences(claimed.get(name), found.get(name), f"{at}.{name}" if at else name)
        ]
    if isinstance(claimed, list) and isinstance(found, list) and len(claimed) == len(found):
        pairs = enumerate(zip(claimed, found, strict=True))
        return [text for index, (one, other) in pairs for text in _differences(one, other, f"{at}.{index}")]
    if claimed == found:
        return []
    if isinstance(claimed, list) and isinstance(found, list):
        return [f"{at}: {len(claimed)} entries, now {len(found)}"]
    return [f"{at}: {str(claimed)[:80]!r}, now {str(found)[:80]!r}"]
