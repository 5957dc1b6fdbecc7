"""What the TPOT of a simulated run is the sum of, and the host's times that explain measured runs.

What the host adds to an iteration is either left out or taken from other runs: `host_of` finds the time for each
iteration and for each request in it that explains their TPOT best (relative least squares, none negative).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import LOG_BEGIN_MS, LOG_END_MS, LOG_PREFILLS, LOG_REQUESTS, LOG_RUNNING
from servingsim.sim.serving.deployment import Host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.silicon_rows import Case
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Run:
    """A case as simulated.

    Attributes:
        case: What was measured.
        tpot_ms: Mean over the requests.
        per_token: Kernel time, graph iterations, other iterations, and requests in the iterations of a token: what TPOT
            is the sum of, each once the host's times are known [4].
        shares: Share of the kernels' time of each op.
        guessed: Share of the kernels' time that no row answers.
        prefill: Share of a token's time in iterations that hold a prefill.
    """

    case: Case
    tpot_ms: float
    per_token: FloatArray
    shares: Mapping[str, float]
    guessed: float
    prefill: float

    @property
    def error_percent(self) -> float:
        """Signed."""
        return (self.tpot_ms / self.case.tpot_ms - 1) * 100


def host_of(runs: Sequence[Run], source: str) -> Host:
    """The host's times that explain the measured TPOT of runs simulated without any.

    A replayed iteration, any other one, and each request in one; least squares of the relative error over every choice
    of which of the three are not 0, so that none is negative.
    """
    measured = np.array([run.case.tpot_ms for run in runs])
    parts = np.array([run.per_token for run in runs]) / measured[:, None]
    lacking = 1 - parts[:, 0]
    best, best_ms = np.inf, np.zeros(3)
    for number in range(4):
        for chosen in combinations(range(3), number):
            some_ms = np.zeros(3)
            columns = parts[:, [1 + each for each in chosen]]
            some_ms[list(chosen)] = np.linalg.lstsq(columns, lacking, rcond=None)[0]
            left = float(np.sum((parts[:, 1:] @ some_ms - lacking) ** 2))
            if (some_ms >= 0).all() and left < best:
                best, best_ms = left, some_ms
    graph_ms, eager_ms, request_ms = best_ms.tolist()
    # The runs do not say up to which batch their engine replays graphs: all of theirs.
    return Host(
        graph_ms=graph_ms, eager_ms=eager_ms, request_ms=request_ms, graph_max_seqs=4096, source=source
    )


def per_token(rows: FloatArray) -> tuple[FloatArray, float]:
    """Means over output tokens, of the iterations from the token before to each; and the share of those with prefills.

    Requests that decode wait where an iteration holds prefills alone, as all of SGLang's do.
    """
    requests, prefills = rows[:, LOG_REQUESTS], rows[:, LOG_PREFILLS]
    decodes = requests - prefills
    took_ms = rows[:, LOG_END_MS] - rows[:, LOG_BEGIN_MS]
    weights = np.where(decodes > 0, decodes, np.maximum(rows[:, LOG_RUNNING] - prefills, 0.0))
    tokens = decodes.sum()
    parts = (took_ms, prefills == 0, prefills > 0, requests)
    means = np.array([float(np.sum(part * weights)) for part in parts]) / tokens
    share = float(np.sum(took_ms * weights * (prefills > 0)) / np.sum(took_ms * weights))
    return means, share
