"""How far a report may be believed: whose rows, which host times, what is left out, how close the tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.check import table_error
from servingsim.sim.report import HOST_NOT_MODELLED
from servingsim.sim.results.report import Trust
from servingsim.sim.validated.words import NOT_VALIDATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import Simulated
    from servingsim.timing.source import Provenance


def trust_of(simulated: Simulated, *, check_tables: bool) -> Trust:
    """Provenance, host, notes and the error of the tables."""
    errors = [
        table_error(pool.built.arch, simulated.sim.prices, pool.prices.extent, pool=index).p95
        for index, pool in enumerate(simulated.pools)
        if check_tables
    ]
    return Trust(
        validated_error=NOT_VALIDATED,
        table_error_p95=max(errors, default=None),
        sources=sorted({said for pool in simulated.pools for said in _sources(pool)}),
        host=[f"{pool.pool.name}: {_host(pool)}" for pool in simulated.pools],
        notes=list(dict.fromkeys(note for pool in simulated.pools for note in _notes(pool, simulated))),
    )


def _sources(pool: PoolModel) -> Iterator[str]:
    """Whose measurements priced the kernels, or that nobody's did."""
    for leaf in pool.prices.leaves:
        for table in leaf.kernel.tables:
            yield _said(table.provenance)
        if not leaf.kernel.tables:
            yield _said(leaf.kernel.estimate)


def _said(whose: Provenance) -> str:
    parts = [whose.origin, whose.device, f"{whose.framework} {whose.version}".strip(), whose.source]
    return ", ".join(filter(None, parts))


def _host(pool: PoolModel) -> str:
    host = pool.pool.host
    return host.source if host.graph_ms or host.eager_ms or host.request_ms else HOST_NOT_MODELLED


def _notes(pool: PoolModel, simulated: Simulated) -> Iterator[str]:
    if _host(pool) == HOST_NOT_MODELLED:
        yield f"{pool.pool.name}: host time is not modelled: real iterations take longer"
    for each in pool.built.view.unpriced:
        yield f"{pool.pool.name}: not priced: {each.name} ({each.reason})"
    if pool.pool.pp > 1:
        yield f"{pool.pool.name}: hand-over between pipeline stages takes {pool.prices.stage_token_ms} ms a token"
    if simulated.deployment.disaggregated:
        link = simulated.deployment.link
        yield f"KV caches move at {link.gb_per_s} GB/s after {link.latency_ms} ms, one at a time from a prefill replica"
    if not np.isfinite(simulated.workload.arrival_ms[-1]):
        yield "closed loop: a request comes when an earlier one is done"
