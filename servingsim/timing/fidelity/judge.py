"""One table's rows to its figures: every split is asked, every answer judged by the same rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.fidelity import shapes
from servingsim.timing.fidelity.answers import ask_split, config_of, coords_of
from servingsim.timing.fidelity.columns import ColumnSource
from servingsim.timing.fidelity.figures import calibration, error_figures, signed_percent
from servingsim.timing.fidelity.regions import regions_of
from servingsim.timing.fidelity.report import RegionFidelity, SplitFidelity, TableFidelity, WorstPoint
from servingsim.timing.fidelity.splits import says, splits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.timing.contract import KernelKind
    from servingsim.timing.fidelity.answers import Answers
    from servingsim.timing.fidelity.columns import Group, KernelColumns
    from servingsim.timing.fidelity.splits import Split
    from servingsim.timing.source import ArgValue, DeviceSpec, FloatArray

WORST = 5
"""Points that are told one by one."""
ROUNDING = 1 - 1e-9


@dataclass(frozen=True)
class Wanted:
    """What is to be judged.

    Attributes:
        splits: Names of splits, or what stands before their colon; empty: all.
        most_configs: Configs of a table, spread evenly over it; 0: all.
    """

    splits: tuple[str, ...] = ()
    most_configs: int = 40

    def has(self, split: str) -> bool:
        """Whether a split is wanted."""
        return not self.splits or split in self.splits or split.partition(":")[0] in self.splits


def nothing() -> None:
    """Tells nobody of progress."""


def judge_table(
    columns: KernelColumns,
    spec: DeviceSpec,
    kind: KernelKind[Any, Any],
    wanted: Wanted,
    tick: Callable[[], None] = nothing,
) -> TableFidelity:
    """Every wanted split of a table.

    Args:
        columns: Rows of one backend.
        spec: Their device.
        kind: Their kind.
        wanted: Which splits, of how many Configs.
        tick: Called after each Config.
    """
    source = ColumnSource(columns, kind, spec)
    found = answers_by_split(source, wanted, tick)
    noise = columns.noise[np.isfinite(columns.noise)]
    return TableFidelity(
        kind=kind.kind,
        backend=columns.provenance.backend,
        device=spec.name,
        source=columns.provenance.source,
        rows=len(columns),
        configs=len(source.groups),
        noise_percent=float(np.median(noise) * 100) if len(noise) else None,
        splits=[split_figures(kind, name, answers) for name, answers in found.items() if answers],
        left_out="" if any(found.values()) else "too few rows of a Config to keep some and ask for others",
    )


def answers_by_split(
    source: ColumnSource, wanted: Wanted, tick: Callable[[], None] = nothing
) -> dict[str, list[Answers]]:
    """Every wanted split asked: the answers of each Config."""
    groups = spread(source.groups, wanted.most_configs)
    return {**_by_points(source, groups, wanted, tick), **_by_shapes(source, groups, wanted, tick)}


def spread(groups: Sequence[Group], most: int) -> list[Group]:
    """At most so many, evenly over their order; all for 0."""
    if not most or len(groups) <= most:
        return list(groups)
    return [groups[index] for index in np.linspace(0, len(groups) - 1, most).round().astype(int)]


def _by_points(
    source: ColumnSource, groups: Sequence[Group], wanted: Wanted, tick: Callable[[], None]
) -> dict[str, list[Answers]]:
    """Splits of the points of each Config. What is asked is out of sight in every Config at once."""
    backend, device = source.columns.provenance.backend, source.spec.name
    configs = {id(group): config_of(source.kind, device, backend, group.fixed) for group in source.groups}
    by_name: dict[str, list[tuple[Group, Split]]] = {}
    for group in source.groups:
        for split in splits_of(source.kind, configs[id(group)], coords_of(source, group)):
            if wanted.has(split.name):
                by_name.setdefault(split.name, []).append((group, split))
    judged = {id(group) for group in groups}
    found: dict[str, list[Answers]] = {}
    for name, members in by_name.items():
        for group, split in members:
            source.hidden[group.rows[~split.kept]] = True
        for group, split in members:
            if id(group) in judged:
                answers = ask_split(source, configs[id(group)], group, split)
                if answers is not None:
                    found.setdefault(name, []).append(answers)
                tick()
        source.hidden[:] = False
    return found


def _by_shapes(
    source: ColumnSource, groups: Sequence[Group], wanted: Wanted, tick: Callable[[], None]
) -> dict[str, list[Answers]]:
    kind = source.kind
    if len(source.groups) < 2 or not (kind.interpolated or kind.relatives):
        return {}
    rules = {"shapes:one": shapes.one_in_turn}
    if kind.interpolated:
        rules["shapes:every_other"] = shapes.every_other
    return {name: rule(source, groups, tick) for name, rule in rules.items() if wanted.has(name)}


def split_figures(kind: KernelKind[Any, Any], name: str, answers: Sequence[Answers]) -> SplitFidelity:
    """Figures over the answers of all Configs."""
    truth, ours, base, half = (
        np.concatenate([getattr(each, field) for each in answers])
        for field in ("truth_ms", "time_ms", "baseline_ms", "error")
    )
    coords = np.concatenate([each.coords for each in answers])
    limit = np.concatenate([each.limit_ms for each in answers])
    inside = np.concatenate([each.flags for each in answers]) == 0
    bound = np.concatenate([each.compute_bound for each in answers])
    fixed = [each.fixed for each in answers for _ in range(len(each))]
    regions = []
    for region, mask in regions_of(kind.axes, coords[inside], bound[inside]):
        figures = error_figures(ours[inside][mask], truth[inside][mask])
        if figures is not None:
            usual = error_figures(base[inside][mask], truth[inside][mask])
            regions.append(RegionFidelity(name=region, ours=figures, baseline=usual))
    return SplitFidelity(
        name=name,
        says=says(name),
        configs=len(answers),
        max_fit_points=max(each.fit_points for each in answers),
        asked=len(truth),
        outside=int((~inside).sum()),
        below_limit=int(((ours < limit * ROUNDING) & (truth >= limit * ROUNDING)).sum()),
        ours=error_figures(ours[inside], truth[inside]),
        baseline=error_figures(base[inside], truth[inside]),
        calibration=calibration(ours[inside], half[inside], truth[inside]),
        outside_errors=error_figures(ours[~inside], truth[~inside]),
        regions=regions,
        worst=_worst(kind, fixed, coords, np.where(inside, ours, np.nan), truth),
    )


def _worst(
    kind: KernelKind[Any, Any],
    fixed: Sequence[dict[str, ArgValue]],
    coords: FloatArray,
    ours_ms: FloatArray,
    truth_ms: FloatArray,
) -> list[WorstPoint]:
    percent = signed_percent(ours_ms, truth_ms)
    known = np.flatnonzero(np.isfinite(percent))
    ranked = known[np.argsort(-np.abs(percent[known]), kind="stable")][:WORST]
    return [
        WorstPoint(
            args={**{axis: float(v) for axis, v in zip(kind.axes, coords[i], strict=True)}, **fixed[i]},
            measured_ms=float(truth_ms[i]),
            predicted_ms=float(ours_ms[i]),
            error_percent=float(percent[i]),
        )
        for i in map(int, ranked)
    ]
