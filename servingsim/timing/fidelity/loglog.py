"""The usual rule, to compare with: log time linear in the log of each size, through the same points.

Over several axes it is nested like our own tables: along the innermost axis first, then between those lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.cache import CacheContext, Points
from servingsim.timing.cache_table import TableCache, build_table

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

SHIFT_MS = 1e-9
"""Below every time, so that logs are positive: tables refuse times that are not."""


def loglog_ms(coords: FloatArray, time_ms: FloatArray, asked: FloatArray) -> FloatArray:
    """Times [N] at `asked` [N, axes] from points [points, axes]; beyond them the end is held.

    Args:
        coords: Of the points. An axis with a zero (no prefix) is read in the log of one more.
        time_ms: Of the points [points].
        asked: Where to answer.
    """
    zero = (coords == 0).any(axis=0) | (asked == 0).any(axis=0)
    logs, wanted = (np.log(each + zero) for each in (coords, asked))
    axes = tuple(f"log{index}" for index in range(coords.shape[1]))
    context = CacheContext("log-log", axes, _nothing, _nothing)
    table = build_table(Points(logs, np.log(time_ms / SHIFT_MS)), context, bent=False)
    answer, _ = TableCache(table, context).try_eval(wanted, _nothing(wanted), _nothing(wanted))
    return np.exp(answer) * SHIFT_MS


def _nothing(coords: FloatArray) -> FloatArray:
    return np.zeros(len(coords))
