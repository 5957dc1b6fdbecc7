"""Whole Configs held out: what the rows of other shapes say about a shape that has none.

- `shapes:one`: every Config in turn loses its rows; the others stay.
- `shapes:every_other`: every other value of each field that the kind interpolates over is gone, and those Configs are
  asked of which every field is gone: the grid at twice its spacing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.fidelity.answers import asked_of, config_of, coords_of
from servingsim.timing.fidelity.loglog import loglog_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.timing.fidelity.answers import Answers
    from servingsim.timing.fidelity.columns import ColumnSource, Group
    from servingsim.timing.source import FloatArray


def one_in_turn(source: ColumnSource, groups: Sequence[Group], tick: Callable[[], None]) -> list[Answers]:
    """Each Config without its rows. The usual rule is not asked: it would be built anew each time."""
    found = []
    for group in groups:
        source.hidden[group.rows] = True
        answers = _asked(source, group, np.full(len(group.rows), np.nan))
        source.hidden[group.rows] = False
        tick()
        if answers is not None:
            found.append(answers)
    return found


def every_other(source: ColumnSource, groups: Sequence[Group], tick: Callable[[], None]) -> list[Answers]:
    """The Configs between, without every other value of each field."""
    fields = source.kind.interpolated
    gone = {
        field: set(np.unique([group.fixed[field] for group in source.groups]).tolist()[1:-1:2])
        for field in fields
    }
    for group in source.groups:
        if any(group.fixed[field] in gone[field] for field in fields):
            source.hidden[group.rows] = True
    baseline_ms = _baseline(source)
    found = []
    for group in groups:
        if all(group.fixed[field] in gone[field] for field in fields):
            answers = _asked(source, group, baseline_ms[group.rows])
            if answers is not None:
                found.append(answers)
        tick()
    source.hidden[:] = False
    return found


def _asked(source: ColumnSource, group: Group, baseline_ms: FloatArray) -> Answers | None:
    trusted = source.columns.trusted[group.rows]
    config = config_of(source.kind, source.spec.name, source.columns.provenance.backend, group.fixed)
    return asked_of(source, config, group, trusted, baseline_ms[trusted], 0) if trusted.any() else None


def _baseline(source: ColumnSource) -> FloatArray:
    """Log-log over fields and axes together, of the rows in sight, at those out of it; NaN elsewhere."""
    fields = source.kind.interpolated
    rest = [name for name in source.groups[0].fixed if name not in fields]
    answer = np.full(len(source.columns), np.nan)
    families: dict[tuple[object, ...], list[Group]] = {}
    for group in source.groups:
        families.setdefault(tuple(group.fixed[name] for name in rest), []).append(group)
    for family in families.values():
        rows = np.concatenate([group.rows for group in family])
        shape = np.concatenate(
            [
                np.tile([float(group.fixed[field]) for field in fields], (len(group.rows), 1))
                for group in family
            ]
        )
        coords = np.hstack([shape, np.concatenate([coords_of(source, group) for group in family])])
        kept = ~source.hidden[rows]
        if kept.any() and not kept.all():
            answer[rows[~kept]] = loglog_ms(coords[kept], source.columns.time_ms[rows[kept]], coords[~kept])
    return answer
