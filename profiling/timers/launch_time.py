"""`time_launch`: the one door to the timers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.timers import cpu, cuda, ranks
from profiling.timers.collecting import collect
from profiling.timers.samples import better, judged
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from profiling.contract import Launch, Setting
    from profiling.row import Timing
    from profiling.timers.collecting import Draw

FEWEST_SAMPLES = 3


def time_launch(launch: Launch, setting: Setting, *, budget_s: float, min_samples: int = 8) -> Timing:
    """Time a launch; samples that something speaks against are taken once more, and the better ones kept.

    Args:
        launch: What `Backend.prepare` returned. It is closed afterwards.
        setting: Where it runs.
        budget_s: Seconds for the samples; a second try may take as long again.
        min_samples: Taken even where the budget does not cover them, 3 at least.

    Raises:
        ServingSimError: E_INPUT for a budget or a number of samples that makes no sense, E_NO_GPU without
            CUDA, whatever the launch raises.
    """
    try:
        _validate(budget_s, min_samples)
        with launch.scope(), _clock(launch, setting, budget_s) as draw:
            attempt = partial(collect, draw, budget_s=budget_s, min_samples=min_samples)
            timing = judged(attempt())
            return better(timing, judged(attempt())) if timing.outlier else timing
    finally:
        launch.close()


def _clock(launch: Launch, setting: Setting, budget_s: float) -> AbstractContextManager[Draw]:
    """The clock that suits a launch, warmed up."""
    if launch.sample is not None:
        return ranks.clock(launch.sample)
    if setting.device_type == "cuda":
        return cuda.clock(launch, setting)
    return cpu.clock(launch, setting, budget_s)


def _validate(budget_s: float, min_samples: int) -> None:
    if not budget_s > 0:
        raise ServingSimError(
            f"budget_s {budget_s}", known="above 0", hint="give a shape half a second or more"
        )
    if min_samples < FEWEST_SAMPLES:
        raise ServingSimError(f"min_samples {min_samples}", known=f"{FEWEST_SAMPLES} and more")
