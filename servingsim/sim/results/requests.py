"""Every request of a run as columns: what it was, when it passed each step, how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.results.latency import samples_of
from servingsim.workers.state import (
    ARRIVAL_MS,
    DONE,
    END_MS,
    FIRST_TOKEN_MS,
    HIT_TOKENS,
    LEVEL,
    NONE,
    OUTPUT,
    PREEMPTIONS,
    PREFILL_WORKER,
    PROMPT,
    REJECTED_KV,
    REJECTED_LENGTH,
    SCHEDULED_MS,
    STATE,
    WORKER,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from servingsim.sim.serving.simulate import Simulated

OUTCOMES = {DONE: "done", REJECTED_LENGTH: "rejected_length", REJECTED_KV: "rejected_kv"}
OPEN = "open"


def request_columns(simulated: Simulated) -> dict[str, npt.NDArray[np.generic]]:
    """One value a request, in the order of arrival; times that never came are NaN, workers that it had not -1."""
    ints, times_ms = simulated.sim.requests.ints, simulated.sim.requests.times_ms
    samples = samples_of(simulated.sim)
    outcome = np.array([OUTCOMES.get(int(state), OPEN) for state in ints[:, STATE]])
    moved = ints[:, PREFILL_WORKER] if simulated.deployment.disaggregated else np.full(len(ints), NONE)
    return {
        "request": np.arange(len(ints)),
        "outcome": outcome,
        "prompt": ints[:, PROMPT],
        "output": ints[:, OUTPUT],
        "level": ints[:, LEVEL],
        "worker": ints[:, WORKER],
        "prefill_worker": moved,
        "preemptions": ints[:, PREEMPTIONS],
        "hit_tokens": ints[:, HIT_TOKENS],
        **{
            name: np.where(times_ms[:, column] < 0, np.nan, times_ms[:, column])
            for name, column in (
                ("arrival_ms", ARRIVAL_MS),
                ("scheduled_ms", SCHEDULED_MS),
                ("first_token_ms", FIRST_TOKEN_MS),
                ("end_ms", END_MS),
            )
        },
        "ttft_ms": samples.ttft_ms,
        "tpot_ms": samples.tpot_ms,
        "e2e_ms": samples.e2e_ms,
    }
