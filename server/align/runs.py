"""Runs of a log: which is fitted, which are judged, and each beside its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from server.align.report import AlignedRun, Compared, Steps
from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations_compare import errors_by_phase, repeats_itself
from servingsim.sim.truth.iterations_replay import deployment_of, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.align.priced import Priced
    from servingsim.sim.truth.host_fit import HostFit
    from servingsim.sim.truth.iterations import IterationLog, Run
    from servingsim.sim.truth.iterations_compare import StepErrors
    from servingsim.sim.truth.iterations_replay import Figure, Replayed
    from servingsim.timing.source import FloatArray


def fitted_and_judged(log: IterationLog, fit_on: str | None) -> tuple[Run, tuple[Run, ...]]:
    """The run that the host's part is fitted on, and the others.

    Raises:
        ServingSimError: The log holds one run only, or none of that name.
    """
    names = [run.name for run in log.runs]
    if len(names) < 2:
        raise ServingSimError(
            f"the log holds one run ({names[0]}): what is fitted on it cannot be judged on it",
            hint="log at least two runs (`rep`): the host's part is fitted on one, the others are judged",
        )
    if fit_on is not None and fit_on not in names:
        raise ServingSimError(f"no run {fit_on!r} in the log", code="E_NOT_FOUND", known=", ".join(names))
    chosen = fit_on or names[0]
    fitted = next(run for run in log.runs if run.name == chosen)
    return fitted, tuple(run for run in log.runs if run.name != chosen)


def predicted_ms(run: Run, kernels_ms: FloatArray, host: HostFit) -> FloatArray:
    """Kernels and host of each iteration of a run."""
    host_ms: FloatArray = np.array([host.of(each) for each in run.iterations])
    return kernels_ms + host_ms


def aligned_run(
    priced: Priced, run: Run, kernels_ms: FloatArray, host: HostFit, fitted: Run, model_name: str
) -> AlignedRun:
    """One run beside its prediction."""
    errors = errors_by_phase(run, predicted_ms(run, kernels_ms, host))
    repeats = repeats_itself(fitted, run) if run is not fitted else None
    replayed = _replayed(priced, run, host, model_name)
    return AlignedRun(
        run=run.name,
        judged=run is not fitted,
        steps={phase: steps(each) for phase, each in errors.items()},
        repeats_percent=repeats.mape_percent if repeats else None,
        replay={name: _compared(each) for name, each in replayed.figures.items()} if replayed else {},
        replay_iterations=_compared(replayed.iterations) if replayed else None,
    )


def medians(runs: Sequence[AlignedRun]) -> dict[str, Compared]:
    """Figures over the judged runs; of their errors the median of the absolute ones."""
    judged = [run.replay for run in runs if run.judged and run.replay]
    return {
        name: Compared(
            measured=float(np.median([run[name].measured for run in judged])),
            simulated=float(np.median([run[name].simulated for run in judged])),
            error_percent=float(np.median([abs(run[name].error_percent) for run in judged])),
        )
        for name in (judged[0] if judged else {})
    }


def steps(errors: StepErrors) -> Steps:
    """As the report has them."""
    return Steps(**vars(errors))


def _replayed(priced: Priced, run: Run, host: HostFit, model_name: str) -> Replayed | None:
    """None where the log does not say what is needed to serve the run again."""
    if not run.requests or not priced.log.max_num_tokens or not priced.log.max_num_seqs:
        return None
    longest = max(each.prompt_tokens + len(each.token_ms) for each in run.requests)
    deployment = deployment_of(priced.log, priced.options, model_name, host, longest=max(longest, 2))
    return replay(run, deployment, [priced.model], priced.source)


def _compared(figure: Figure) -> Compared:
    return Compared(measured=figure.measured, simulated=figure.simulated, error_percent=figure.error_percent)
