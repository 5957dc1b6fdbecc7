"""A finished simulation to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import ITERATIONS
from servingsim.sim.results.capacity import SPECULATION, capacities, queue_growth
from servingsim.sim.results.interval import interval_of
from servingsim.sim.results.latency import curves_of, latency_of, samples_of
from servingsim.sim.results.pools import pool_results
from servingsim.sim.results.report import (
    Goodput,
    Load,
    Outcome,
    RunFacts,
    ServingReport,
    Slo,
    Throughput,
    Traffic,
)
from servingsim.sim.results.sentence import sentence
from servingsim.sim.results.series import series_of
from servingsim.sim.results.time_split import together
from servingsim.sim.results.trust import trust_of
from servingsim.sim.workload.load import describe
from servingsim.workers.state import (
    ARRIVAL_MS,
    HIT_TOKENS,
    OUTPUT,
    PREEMPTIONS,
    PROMPT,
    REJECTED_KV,
    REJECTED_LENGTH,
    STATE,
)

if TYPE_CHECKING:
    from servingsim.sim.results.latency import Samples
    from servingsim.sim.serving.simulate import Simulated

SATURATED_GROWTH = 0.02
NEAR = 0.8
"""Share of the capacity from which traffic is near it."""


def results_of(
    simulated: Simulated, *, slo: Slo | None = None, check_tables: bool = True, interval: bool = False
) -> ServingReport:
    """Everything that a run says.

    Args:
        simulated: A run that came to its end.
        slo: Limits for the goodput.
        check_tables: Price random iterations with the model too, and say how far the loop's tables are from it.
        interval: Simulate twice more, with kernels at the ends of their 90 % intervals.
    """
    sim = simulated.sim
    samples = samples_of(sim)
    span_ms = _span_ms(simulated)
    begin_ms = float(sim.requests.times_ms[0, ARRIVAL_MS])
    outcome, throughput = _outcome(simulated, samples, span_ms), _throughput(simulated, samples, span_ms)
    latency, pools = latency_of(samples, sim.gaps), pool_results(simulated, span_ms)
    hit_share = _hit_share(simulated, samples)
    load = _load(simulated, samples, hit_share)
    report = ServingReport(
        model=simulated.deployment.model,
        stack=simulated.deployment.stack,
        devices=simulated.deployment.num_devices,
        summary="",
        traffic=_traffic(simulated),
        outcome=outcome,
        throughput=throughput,
        latency=latency,
        interval=interval_of(simulated, pools) if interval else None,
        goodput=_goodput(samples, slo, span_ms) if slo else None,
        prefix_hit_share=hit_share,
        load=load,
        time=together([pool.time for pool in pools], [pool.devices for pool in pools]),
        pools=pools,
        trust=trust_of(simulated, check_tables=check_tables),
        series=series_of(sim, begin_ms, begin_ms + span_ms),
        curves=curves_of(samples, sim.gaps),
        run=_run(simulated),
    )
    return report.model_copy(update={"summary": sentence(report)})


def _span_ms(simulated: Simulated) -> float:
    """From the first arrival to the end of the last iteration."""
    return max(float(simulated.sim.clock_ms[0] - simulated.sim.requests.times_ms[0, ARRIVAL_MS]), 0.0)


def _traffic(simulated: Simulated) -> Traffic:
    workload, said = simulated.workload, describe(simulated.workload)
    return Traffic(
        name=workload.name,
        source=workload.source,
        requests=said.requests,
        rate_per_s=said.rate_per_s,
        prompt_mean=said.prompt[0],
        output_mean=said.output[0],
        repeated_share=said.repeated_share,
    )


def _outcome(simulated: Simulated, samples: Samples, span_ms: float) -> Outcome:
    ints = simulated.sim.requests.ints
    return Outcome(
        done=int(samples.done.sum()),
        rejected_length=int((ints[:, STATE] == REJECTED_LENGTH).sum()),
        rejected_kv=int((ints[:, STATE] == REJECTED_KV).sum()),
        preemptions=int(ints[:, PREEMPTIONS].sum()),
        iterations=int(simulated.sim.counters[ITERATIONS]),
        span_s=span_ms / 1e3,
    )


def _throughput(simulated: Simulated, samples: Samples, span_ms: float) -> Throughput:
    ints, span_s = simulated.sim.requests.ints[samples.done].astype(np.int64), span_ms / 1e3
    output, prompt = float(ints[:, OUTPUT].sum()), float(ints[:, PROMPT].sum())
    a_second = 1 / span_s if span_s else 0.0
    return Throughput(
        requests_per_s=len(ints) * a_second,
        output_tokens_per_s=output * a_second,
        total_tokens_per_s=(prompt + output) * a_second,
        output_tokens_per_s_per_device=output * a_second / simulated.deployment.num_devices,
    )


def _goodput(samples: Samples, slo: Slo, span_ms: float) -> Goodput:
    """A request of one token has no TPOT, and so keeps its limit."""
    kept = samples.done.copy()
    for limit, values in ((slo.ttft_ms, samples.ttft_ms), (slo.e2e_ms, samples.e2e_ms)):
        if limit is not None:
            kept &= values <= limit
    if slo.tpot_ms is not None:
        kept &= np.isnan(samples.tpot_ms) | (samples.tpot_ms <= slo.tpot_ms)
    return Goodput(
        slo=slo,
        share=float(kept.mean()),
        requests_per_s=float(kept.sum() / span_ms * 1e3) if span_ms else 0.0,
    )


def _hit_share(simulated: Simulated, samples: Samples) -> float:
    """A request that was preempted may find its own prompt again: no more than all of it counts."""
    ints = simulated.sim.requests.ints[samples.done].astype(np.int64)
    prompt = int(ints[:, PROMPT].sum())
    return float(np.minimum(ints[:, HIT_TOKENS], ints[:, PROMPT]).sum() / prompt) if prompt else 0.0


def _load(simulated: Simulated, samples: Samples, hit_share: float) -> Load:
    offered = describe(simulated.workload).rate_per_s
    growth = queue_growth(simulated.sim.requests.times_ms[:, ARRIVAL_MS], samples.queue_ms)
    found = capacities(simulated, 1 - hit_share)
    least = min(range(len(found)), key=lambda index: found[index].requests_per_s) if found else 0
    capacity = found[least].requests_per_s if found else None
    share = offered / capacity if offered and capacity else None
    return Load(
        offered_per_s=offered,
        capacity_per_s=capacity,
        share=share,
        limited_by=f"{simulated.pools[least].pool.name}: {found[least].limited_by}" if found else SPECULATION,
        queue_growth=growth,
        verdict=_verdict(share, growth) if offered else _without_rate(simulated),
    )


def _without_rate(simulated: Simulated) -> str:
    """Arrivals that follow from what is done, or that all come at once."""
    return "burst" if np.isfinite(simulated.workload.arrival_ms).all() else "closed loop"


def _verdict(share: float | None, growth: float | None) -> str:
    """What was observed counts before what was estimated."""
    if growth is not None and growth > SATURATED_GROWTH:
        return "saturated"
    return "near capacity" if share is not None and share > NEAR else "below capacity"


def _run(simulated: Simulated) -> RunFacts:
    iterations = int(simulated.sim.counters[ITERATIONS])
    rate = iterations / simulated.elapsed_s if simulated.elapsed_s else 0.0
    return RunFacts(build_s=simulated.build_s, loop_s=simulated.elapsed_s, iterations_per_s=rate)
