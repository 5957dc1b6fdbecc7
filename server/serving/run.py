"""A deployment and its traffic, simulated: models read and split for each pool, progress told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.predict_model import model_of
from servingsim.archs.models import config_path
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.workload.load import workload_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import LogPiece, Progress, Simulated
    from servingsim.sim.workload.spec import WorkloadSpec
    from servingsim.timing.source import TimingSource


def served(
    deployment: Deployment,
    workload: WorkloadSpec,
    source: TimingSource,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_log: Callable[[LogPiece], None] | None = None,
    log_requests: bool = False,
) -> Simulated:
    """Simulate what was asked for.

    Raises:
        ServingSimError: A model, a file or a device is not there or does not fit; the run is stuck.
    """
    traffic = workload_of(workload)
    return simulate(
        deployment,
        traffic,
        models_of(deployment),
        source,
        seed=workload.seed,
        on_progress=on_progress,
        on_log=on_log,
        log_requests=log_requests,
    )


def models_of(deployment: Deployment) -> list[DenseFacts | TableModel]:
    """One rank's model for each pool."""
    path = config_path(deployment.model)
    return [
        model_of(
            path,
            stack=deployment.stack,
            tp=pool.tp,
            ep=pool.ep,
            dtype=deployment.dtype,
            kv_dtype=pool.kv_dtype,
        )
        for pool in deployment.pools
    ]
