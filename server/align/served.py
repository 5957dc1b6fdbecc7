"""The main path of `align` for measured requests: serve them again, fit the host where asked, set both side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from server.align.served_parts import curves, figures, measured_figures, ops, simulated_figures
from server.align.served_report import FittedHost, ServedReport
from server.serving.run import models_of
from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import ITERATIONS
from servingsim.sim.results.results import results_of
from servingsim.sim.truth.requests_host import first_of, fit_host_time
from servingsim.sim.truth.requests_replay import serve_again, with_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.sim.results.report import ServingReport
    from servingsim.sim.serving.deployment import Deployment, Host
    from servingsim.sim.serving.simulate import Progress
    from servingsim.sim.truth.requests import RequestTimes
    from servingsim.sim.truth.requests_host import HostOfRequests
    from servingsim.sim.truth.requests_replay import Served
    from servingsim.sim.truth.requests_run import MeasuredRun
    from servingsim.timing.source import TimingSource

LONGEST_HOST_SHARE = 0.5
"""Of the measured TPOT: what more than this is left to a fitted host is called an error of something else."""


@dataclass(frozen=True)
class ServedRequest:
    """What is set side by side.

    Attributes:
        run: The measured run.
        deployment: What served it.
        fit_share: Share of the requests that a host time is taken from; None: host times are the deployment's.
    """

    run: MeasuredRun
    deployment: Deployment
    fit_share: float | None = None


def align_requests(
    request: ServedRequest, source: TimingSource, on_progress: Callable[[Progress], None] | None = None
) -> ServedReport:
    """Set a run beside its simulation.

    Raises:
        ServingSimError: The deployment does not fit together or cannot serve the requests; a host is to be fitted where
            nothing tells it.
    """
    run = request.run
    models = models_of(request.deployment)
    serve = partial(serve_again, workload=run.workload, models=models, source=source, on_progress=on_progress)
    given = serve(request.deployment)
    host = _host(request, given, serve)
    served = serve(with_host(request.deployment, host.host), built=given.simulated.pools) if host else given
    judged = slice(host.requests if host else 0, None)
    results = results_of(served.simulated)
    truth = measured_figures(run, judged)
    return ServedReport(
        log=run.name,
        what=run.what,
        deployment=served.simulated.deployment,
        arrivals=run.arrivals,
        requests=len(run.workload),
        judged=len(run.workload) - (judged.start or 0),
        host=FittedHost(**vars(host)) if host else None,
        figures=figures(truth, simulated_figures(served, judged)),
        before_fit=figures(truth, simulated_figures(given, judged)) if host else {},
        curves=curves(run, served, judged),
        iterations=int(served.simulated.sim.counters[ITERATIONS]),
        time=results.time,
        ops=ops(results),
        sources=results.trust.sources,
        validated_error=results.trust.validated_error,
        missing=list(run.missing),
        notes=[*run.notes, *_doubts(request, host), *_notes(request.deployment, results, host)],
    )


def _host(request: ServedRequest, given: Served, serve: Callable[..., Served]) -> HostOfRequests | None:
    """The host time of the first requests, where that is asked for."""
    if request.fit_share is None:
        return None
    measured = request.run.requests
    if measured is None:
        raise ServingSimError(
            "the file holds no request one by one: there is nothing to fit on that is not judged",
            path=request.run.name,
            hint="leave --fit-host out, or record the run with --save-detailed",
        )
    if any(
        each.host.graph_ms or each.host.eager_ms or each.host.request_ms for each in request.deployment.pools
    ):
        raise ServingSimError(
            "a host is given and to be fitted", hint="leave --fit-host out, or the deployment's host times"
        )

    def replayed(host: Host) -> RequestTimes:
        if not host.graph_ms:
            return given.times
        return serve(with_host(request.deployment, host), built=given.simulated.pools).times

    return fit_host_time(measured, first_of(len(measured), request.fit_share), replayed)


def _doubts(request: ServedRequest, host: HostOfRequests | None) -> list[str]:
    """Where what is simulated is not what was measured."""
    requests = request.run.requests
    if host is not None and not request.run.timed:
        return ["requests do not come as they did in the run: the fitted host holds what that makes of TPOT"]
    if requests is None or not request.run.timed:
        return []
    # Where only the client measured, a request has run at least since its first token.
    begun_ms = requests.scheduled_ms if requests.tells_running else requests.first_token_ms
    most = int(replace(requests, scheduled_ms=begun_ms).running(begun_ms).max())
    limit = sum(pool.replicas * pool.scheduler.max_num_seqs for pool in request.deployment.pools)
    if most <= limit:
        return []
    said = f"{most} requests ran at once, the deployment runs {limit} at most (replicas x max_num_seqs)"
    return [f"{said}: it is not the one that was measured"]


def _notes(deployment: Deployment, results: ServingReport, host: HostOfRequests | None) -> list[str]:
    notes = list(results.trust.notes)
    if host is not None and not host.time_ms:
        notes.append(
            f"kernels alone give the first {host.requests} requests a TPOT of {host.kernels_tpot_ms:.4g} ms, measured "
            f"were {host.measured_tpot_ms:.4g} ms: no host time mends that"
        )
    if host is not None and host.time_ms > LONGEST_HOST_SHARE * host.measured_tpot_ms:
        notes.append(
            f"a host of {host.time_ms:.3g} ms is most of a TPOT of {host.measured_tpot_ms:.4g} ms: look at the "
            "deployment and at the kernels before it is believed"
        )
    if any(pool.scheduler.prefix_caching for pool in deployment.pools):
        notes.append("prefix caching finds nothing here: the file holds no content that requests could share")
    return notes
