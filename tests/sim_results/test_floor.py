"""The run's necessary work against the accountant, asked for every iteration that the log holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.sim.loop.state import LOG_REQUESTS
from servingsim.sim.results.floor import floor_of
from servingsim.sim.serving.deployment import Deployment, Pool, Scheduler
from servingsim.sim.serving.simulate import simulate
from servingsim.timing.batch import Batch
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

LARGE = DeviceSpec(
    "large",
    dict.fromkeys(("fp32", "bf16", "fp16", "fp8", "mxfp4"), 4e13),
    1e12,
    10**12,
    link_bytes_per_s=1e10,
)


def test_floor_is_the_sum_over_iterations(serve: Serve, busy: Workload) -> None:
    """Defect: a part that is left out or counted twice when the loop's counts are put together."""
    pieces: list[LogPiece] = []
    simulated = serve(busy, {"replicas": 2}, on_log=pieces.append)
    pool = simulated.pools[0]
    device = pool.built.site.source.device(pool.pool.device)
    bounds = [pool.built.view.bound(batch, device) for batch in _batches(simulated, pieces)]
    floor = floor_of(pool, 0, simulated.sim.visits)
    assert floor is not None
    assert floor.compute_ms == pytest.approx(sum(each.compute_ms for each in bounds if each), rel=2e-3)
    assert floor.memory_ms == pytest.approx(sum(each.memory_ms for each in bounds if each), rel=2e-3)
    each_alone = sum(each.bound_ms for each in bounds if each)
    assert floor.once_ms <= each_alone * 1.002
    assert floor.formed_ms >= each_alone * 0.998


@pytest.mark.parametrize(
    "name",
    [
        "Qwen--Qwen3-30B-A3B",
        "deepseek-v2-lite",
        "aicrefs--Qwen--Qwen3-Next-80B-A3B-Thinking",
        "google--gemma-4-26B-A4B",
    ],
)
def test_floor_of_any_family_is_the_sum_over_iterations(shared_data: Path, busy: Workload, name: str) -> None:
    """Defect: experts that are touched by few tokens, latents, states and windows counted as dense layers are."""
    from server.predict_model import model_of  # noqa: PLC0415 - only where the configs are

    path = shared_data / "configs" / f"{name}.json"
    model = model_of(path, stack="vllm", tp=1, ep=1, dtype=None, kv_dtype=None)
    scheduler = Scheduler(max_num_tokens=256, max_num_seqs=16, max_model_len=512)
    served = Pool(device=LARGE.name, kv_blocks=4096, scheduler=scheduler)
    pieces: list[LogPiece] = []
    simulated = simulate(
        Deployment(model=name, pools=(served,)),
        busy,
        [model],
        MemorySource({LARGE.name: LARGE}),
        on_log=pieces.append,
        log_requests=True,
    )
    pool = simulated.pools[0]
    bounds = [pool.built.view.bound(batch, LARGE) for batch in _batches(simulated, pieces)]
    floor = floor_of(pool, 0, simulated.sim.visits)
    assert floor is not None
    assert floor.compute_ms == pytest.approx(sum(each.compute_ms for each in bounds if each), rel=2e-3)
    assert floor.memory_ms == pytest.approx(sum(each.memory_ms for each in bounds if each), rel=4e-3)


def test_no_schedule_reads_less_than_the_weights_once(serve: Serve, alone: Workload) -> None:
    """Defect: a floor of one request that forgets the model itself."""
    simulated = serve(alone)
    pool = simulated.pools[0]
    floor = floor_of(pool, 0, simulated.sim.visits)
    device = pool.built.site.source.device(pool.pool.device)
    once = pool.built.view.bound(Batch.of(decode=[1]), device)
    assert floor is not None
    assert once is not None
    assert once.memory_ms < floor.once_ms < floor.memory_ms
    assert floor.memory_ms == pytest.approx(11 * once.memory_ms, rel=0.05)


def _batches(simulated: Simulated, pieces: list[LogPiece]) -> list[Batch]:
    """Every iteration as the accountant takes it."""
    workload = simulated.workload
    computed, found = [0] * len(workload), []
    for piece in pieces:
        at = 0
        for row in piece.rows:
            count = int(row[LOG_REQUESTS])
            prefill, decode = [], []
            for request, new in piece.requests[at : at + count].tolist():
                prompt, before = int(workload.prompt[request]), computed[request]
                computed[request] += new
                if before < prompt:
                    prefill.append((new, before, before + new >= prompt))
                else:
                    decode.append(before + new)
            at += count
            found.append(Batch.of(prefill, decode))
    return found
