"""A measured run's requests through a deployment's scheduler, with the times of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.pricing.tables import HostCosts
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.truth.requests import RequestTimes
from servingsim.workers.state import (
    ARRIVAL_MS,
    DONE,
    END_MS,
    FIRST_TOKEN_MS,
    REJECTED_LENGTH,
    SCHEDULED_MS,
    STATE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.serving.deployment import Deployment, Host
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import Progress, Simulated
    from servingsim.sim.workload.contract import Workload
    from servingsim.timing.source import TimingSource


@dataclass(frozen=True)
class Served:
    """Requests as they were simulated.

    Attributes:
        simulated: The whole run.
        times: Of each request, in the order of the workload.
    """

    simulated: Simulated
    times: RequestTimes


def serve_again(
    deployment: Deployment,
    workload: Workload,
    models: Sequence[DenseFacts | TableModel],
    source: TimingSource,
    *,
    built: Sequence[PoolModel] = (),
    on_progress: Callable[[Progress], None] | None = None,
) -> Served:
    """Simulate to the end.

    Args:
        deployment: What served.
        workload: The run's requests.
        models: One rank's model for each pool.
        source: Where kernel times come from.
        built: Pools of an earlier run of the same requests by a deployment that differs in its host times at most.
        on_progress: Called between pieces.

    Raises:
        ServingSimError: The parts do not fit together, or the deployment rejects requests that the engine served.
    """
    # Only the host's times differ: kernels need not be tabulated again.
    ready = tuple(
        replace(each, prices=replace(each.prices, host=HostCosts(**pool.host.model_dump())))
        for each, pool in zip(built, deployment.pools, strict=bool(built))
    )
    simulated = simulate(deployment, workload, models, source, built=ready, on_progress=on_progress)
    _refuse_rejected(simulated)
    times_ms = simulated.sim.requests.times_ms
    return Served(
        simulated,
        RequestTimes(
            workload.output,
            times_ms[:, ARRIVAL_MS],
            times_ms[:, SCHEDULED_MS],
            times_ms[:, FIRST_TOKEN_MS],
            times_ms[:, END_MS],
        ),
    )


def with_host(deployment: Deployment, host: Host) -> Deployment:
    """The deployment with these host times in every pool; what each pool replays as a graph stays."""
    pools = tuple(
        pool.model_copy(update={"host": host.model_copy(update={"graph_max_seqs": pool.host.graph_max_seqs})})
        for pool in deployment.pools
    )
    return deployment.model_copy(update={"pools": pools})


def _refuse_rejected(simulated: Simulated) -> None:
    state = simulated.sim.requests.ints[:, STATE]
    lost = int((state != DONE).sum())
    if not lost:
        return
    if int((state == REJECTED_LENGTH).sum()):
        longest = int((simulated.workload.prompt + simulated.workload.output).max())
        raise ServingSimError(
            f"{lost} of {len(state)} requests that the engine served are longer than max_model_len",
            known=f"the longest has {longest} tokens, prompt and output",
            hint="give the engine's own --max-model-len",
        )
    raise ServingSimError(
        f"{lost} of {len(state)} requests that the engine served never fit in the KV cache",
        hint="give the engine's own number of KV blocks: --set pools.0.kv_blocks=N",
    )
