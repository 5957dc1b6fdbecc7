"""Measured engine runs, simulated: the same clients, lengths and engine arguments, kernels of the same version.

The model of a split of ranks is compiled once and serves all of its runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.silicon_engines import engine_of
from benchmarks.accuracy.silicon_host import Run, per_token
from benchmarks.accuracy.silicon_models import config_of, skew_of
from server.serving.run import models_of
from servingsim.archs.table_model import TableModel
from servingsim.sim.pricing.tables import HostCosts
from servingsim.sim.results.results import results_of
from servingsim.sim.serving.deployment import Deployment, Host, Pool
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.workload.load import workload_of
from servingsim.sim.workload.spec import Arrivals, Lengths, WorkloadSpec
from servingsim.workers.state import END_MS, FIRST_TOKEN_MS, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.accuracy.silicon_engines import Engine
    from benchmarks.accuracy.silicon_kernels import Rows
    from benchmarks.accuracy.silicon_rows import Case
    from servingsim.archs.facts import DenseFacts
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.timing.source import FloatArray

REQUESTS_PER_CLIENT = 10
"""InferenceX sends ten; other runs do not say. With 5 the mean error of Llama on H100 grows by 1.4 points: the first
wave weighs more."""
NO_HOST = Host(source="not modelled")


@dataclass
class Simulator:
    """Runs cases of one engine on the rows of its version.

    Attributes:
        rows: The kernels' times.
        scratch: A folder for the config.
        cases: All that will be asked, so that one compiled model fits each of a split.
    """

    rows: Rows
    scratch: Path
    cases: Sequence[Case]
    _built: dict[Pool, tuple[PoolModel, ...]] = field(default_factory=dict)
    _ran: dict[tuple[object, ...], Run] = field(default_factory=dict)

    def run(self, case: Case, host: Host = NO_HOST) -> Run:
        """Simulate one; what was simulated before, as repeated measurements are, is not again."""
        key = (*case.key, case.shortest, host)
        if key not in self._ran:
            self._ran[key] = self._simulated(case, host)
        return replace(self._ran[key], case=case)

    def _simulated(self, case: Case, host: Host) -> Run:
        bare = self._deployment(case, engine_of(case), NO_HOST)
        traffic = workload_of(_traffic(case))
        if bare.pools[0] not in self._built:
            models = [_skewed(model, skew_of(case.served)) for model in models_of(bare)]
            self._built[bare.pools[0]] = simulate(bare, traffic, models, self.rows.source).pools
        (pool,) = self._built[bare.pools[0]]
        costs = HostCosts(**host.model_dump())
        hosted = replace(pool, prices=replace(pool.prices, host=costs))
        deployment = bare.model_copy(update={"pools": (bare.pools[0].model_copy(update={"host": host}),)})
        pieces: list[LogPiece] = []
        simulated = simulate(deployment, traffic, (), self.rows.source, built=(hosted,), on_log=pieces.append)
        return _judged(case, simulated, np.concatenate([piece.rows for piece in pieces]))

    def _deployment(self, case: Case, engine: Engine, host: Host) -> Deployment:
        alike = [each for each in self.cases if each.split == case.split]
        longest = max(each.prompt_tokens + each.output_tokens for each in alike)
        scheduler = engine.scheduler.model_copy(update={"max_model_len": longest + 8})
        split = case.split
        pool = Pool(
            device=self.rows.device,
            replicas=split.dp,
            tp=split.tp,
            pp=split.pp,
            ep=split.ep,
            kv_dtype=engine.kv_dtype,
            scheduler=scheduler,
            host=host,
        )
        return Deployment(model=str(self._config(case)), stack=engine.stack, pools=(pool,))

    def _config(self, case: Case) -> Path:
        path = self.scratch / case.served.name / "config.json"
        if not path.is_file():
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(config_of(case.served, self.rows.half)), "utf-8")
        return path


def _traffic(case: Case) -> WorkloadSpec:
    return WorkloadSpec(
        requests=REQUESTS_PER_CLIENT * case.clients,
        arrivals=Arrivals(kind="closed", size=case.clients),
        prompt=_lengths(case.prompt_tokens, case.shortest),
        output=_lengths(case.output_tokens, case.shortest),
    )


def _lengths(longest: int, shortest: float) -> Lengths:
    """Evenly between a share of the longest length and that length."""
    if shortest == 1.0:
        return Lengths(kind="fixed", mean=longest)
    middle = (1 + shortest) / 2
    return Lengths(
        kind="uniform", mean=round(longest * middle), spread=(1 - shortest) / 2 / middle, most=longest
    )


def _skewed(model: DenseFacts | TableModel, skew: str) -> DenseFacts | TableModel:
    """The model with tokens spread over its experts as they are in the rows of that name."""
    if not isinstance(model, TableModel):
        return model
    rows = tuple(
        replace(row, args={**row.args, "distribution": skew}) if "distribution" in row.args else row
        for row in model.rows
    )
    return replace(model, rows=rows)


def _judged(case: Case, simulated: Simulated, log: FloatArray) -> Run:
    requests = simulated.sim.requests
    # A client sees the time from its first to its last token over the tokens between them.
    spans_ms = requests.times_ms[:, END_MS] - requests.times_ms[:, FIRST_TOKEN_MS]
    tokens = requests.ints[:, OUTPUT] - 1
    (result,) = results_of(simulated, check_tables=False).pools
    parts, prefill = per_token(log)
    return Run(
        case=case,
        tpot_ms=float(np.mean(spans_ms / tokens)),
        per_token=parts,
        shares={op.op: op.share for op in result.ops},
        guessed=result.estimated,
        prefill=prefill,
    )
