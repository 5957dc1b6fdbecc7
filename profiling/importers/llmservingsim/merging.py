"""One row a shape: layers that tensor parallelism does not divide were measured once in every rank's folder."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from profiling.registry import kinds
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profiling.contract import KernelKind
    from profiling.row import MeasuredRow


@dataclass(frozen=True)
class Merged:
    """Distinct shapes.

    Attributes:
        rows: By file: those whose first measurement it holds.
        repeated: Rows of each file that repeat a shape of this or an earlier one.
    """

    rows: dict[str, list[MeasuredRow]]
    repeated: dict[str, int]


def merge(rows: Mapping[str, list[MeasuredRow]]) -> Merged:
    """The median of a shape's times, with their spread as its noise.

    Raises:
        ServingSimError: Args that the row's kind does not allow.
    """
    known = kinds()
    groups: dict[tuple[object, ...], list[MeasuredRow]] = {}
    first_in: dict[tuple[object, ...], str] = {}
    repeated = dict.fromkeys(rows, 0)
    for name, each in rows.items():
        for row in each:
            _refuse_unusable(row, known, name)
            key: tuple[object, ...] = (row.origins.device, row.origins.backend, row.kind, *row.args.values())
            repeated[name] += key in groups
            groups.setdefault(key, []).append(row)
            first_in.setdefault(key, name)
    merged: dict[str, list[MeasuredRow]] = {name: [] for name in rows}
    for shape, members in groups.items():
        merged[first_in[shape]].append(_one(members))
    return Merged(merged, repeated)


def _one(members: list[MeasuredRow]) -> MeasuredRow:
    if len(members) == 1:
        return members[0]
    times_ms = [row.timing.median_ms for row in members]
    mean_ms = statistics.fmean(times_ms)
    timing = replace(
        members[0].timing,
        median_ms=statistics.median(times_ms),
        p10_ms=min(times_ms),
        p90_ms=max(times_ms),
        cv=statistics.stdev(times_ms) / mean_ms,
        samples=sum(row.timing.samples for row in members),
    )
    return replace(members[0], timing=timing)


def _refuse_unusable(row: MeasuredRow, known: Mapping[str, KernelKind], name: str) -> None:
    try:
        known[row.kind].args(**row.args)
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        raise ServingSimError(
            f"{row.kind} {dict(row.args)}: {why}", path=name, hint="correct the line or remove it"
        ) from None
