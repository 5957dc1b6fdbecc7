"""In the subject's process: rows left out of the fit and asked for, so that they are truths that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.fidelity.held_out import folds, without
from skills.validate_cache.probing import _probe, region_of

if TYPE_CHECKING:
    from servingsim.timing.engine import Kernel
    from servingsim.timing.source import TimingSource
    from skills.validate_cache.opened import Opened

__all__ = ["choose_held", "folds", "without"]


def choose_held(
    opened: Opened, kernel: Kernel, source: TimingSource, *, most: int, seed: int
) -> list[dict[str, Any]]:
    """Held-out rows as probes, each with the fold that it belongs to; spread evenly over the folds."""
    draw = np.random.default_rng(seed)
    by_fold = []
    for index, (_, held) in enumerate(folds(kernel)):
        rest = opened.kernel(without(kernel, source, held))
        points = np.unique(np.vstack([table.measured for table in rest.tables]), axis=0)
        probes = []
        for point in held[draw.permutation(len(held))]:
            probe = _probe(rest, region_of(rest, points, point), tuple(int(value) for value in point))
            if not isinstance(probe, str):
                probes.append({**probe, "fold": index})
        by_fold.append(probes)
    chosen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for turn in range(max(map(len, by_fold), default=0)):
        for probes in by_fold:
            if turn < len(probes) and len(chosen) < most:
                chosen.setdefault((*probes[turn]["args"].values(), probes[turn]["region"]), probes[turn])
    return list(chosen.values())
