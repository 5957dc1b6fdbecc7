"""An engine that serves requests at known costs, and the files that it and its client would write.

It is our own simulator with a host time that its files do not say, on a made-up device whose kernels are estimated.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.device_row import DeviceRow
from profiling.source import StoreSource
from profiling.store import Store
from server.serving.run import models_of
from servingsim.sim.serving.deployment import Deployment, Host, Pool, Scheduler
from servingsim.sim.truth.requests_compare import figures_of
from servingsim.sim.truth.requests_replay import serve_again
from servingsim.sim.workload.contract import plain_workload

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.truth.requests import RequestTimes
    from servingsim.sim.workload.contract import Workload
    from servingsim.timing.source import FloatArray

DEVICE, MODEL = "made-up", "qwen3-0.6b"
HOST_MS, USERS, COUNT = 3.0, 6, 60
OPTIONS = ("--device", DEVICE, "--max-num-tokens", "256", "--max-num-seqs", "16", "--max-model-len", "1024")
BEGAN_S = 1000.0
"""On the engine's clock: no log begins at 0."""


def make_store(path: Path) -> Path:
    """A store with one device and no rows."""
    with Store.open(path, create=True) as store:
        peaks = {"bf16": 4e13}
        store.put_device(DeviceRow(DEVICE, "cuda", 80 * 10**9, peaks, 2e11, 4e11, limits_origin="measured"))
    return path


def arrivals(rate_per_s: float) -> FloatArray:
    """Uneven ones, ascending from 0."""
    gaps = np.random.default_rng(3).exponential(1e3 / rate_per_s, COUNT)
    times_ms: FloatArray = np.concatenate([[0.0], np.cumsum(gaps[1:])])
    return times_ms


def traffic(arrival_ms: FloatArray) -> Workload:
    """Requests of different lengths."""
    lengths = np.random.default_rng(4)
    return plain_workload(
        "traffic", "drawn", arrival_ms, lengths.integers(20, 400, COUNT), lengths.integers(2, 40, COUNT)
    )


def closed() -> FloatArray:
    """Arrivals of a client that keeps so many requests under way."""
    times_ms = np.full(COUNT, np.inf)
    times_ms[:USERS] = 0.0
    return times_ms


def run(db: Path, workload: Workload) -> RequestTimes:
    """What the engine does."""
    pool = Pool(
        device=DEVICE,
        scheduler=Scheduler(max_num_tokens=256, max_num_seqs=16, max_model_len=1024),
        host=Host(graph_ms=HOST_MS, eager_ms=HOST_MS),
    )
    deployment = Deployment(model=MODEL, pools=(pool,))
    with Store.open(db, create=False) as store:
        return serve_again(deployment, workload, models_of(deployment), StoreSource(store)).times


def write_log(path: Path, workload: Workload, times: RequestTimes) -> Path:
    """A line a request, as they end."""
    lines = [
        {
            "request_id": f"bench-{at}",
            "input_toks": int(workload.prompt[at]),
            "output_toks": int(workload.output[at]),
            "queued_ts": BEGAN_S + times.arrival_ms[at] / 1e3,
            "scheduled_ts": BEGAN_S + times.scheduled_ms[at] / 1e3,
            "first_token_ts": BEGAN_S + times.first_token_ms[at] / 1e3,
            "last_token_ts": BEGAN_S + times.end_ms[at] / 1e3,
        }
        for at in np.argsort(times.end_ms)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def bench_result(workload: Workload, times: RequestTimes, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - of the file
    """What `vllm bench serve --save-detailed` writes: fields in its order, seconds. None leaves a field out."""
    found = figures_of(times)
    span_s = float(times.end_ms.max()) / 1e3
    tokens = (int(workload.prompt.sum()), int(workload.output.sum()))
    settings = {
        "date": "20260101-000000",
        "endpoint_type": "openai",
        "model_id": "org/name",
        "num_prompts": COUNT,
        "request_rate": 8.0,
        "burstiness": 1.0,
        "max_concurrency": None,
        "duration": span_s,
        "completed": COUNT,
        "total_input_tokens": tokens[0],
        "total_output_tokens": tokens[1],
        "request_throughput": COUNT / span_s,
        "output_throughput": tokens[1] / span_s,
    }
    ttft_s = times.of("ttft") / 1e3
    tpot_s = times.of("tpot") / 1e3
    detail = {
        "input_lens": workload.prompt.tolist(),
        "output_lens": workload.output.tolist(),
        "ttfts": ttft_s.tolist(),
        "itls": [[each] * (int(count) - 1) for each, count in zip(tpot_s, workload.output, strict=True)],
        "start_times": (BEGAN_S + times.arrival_ms / 1e3).tolist(),
        "generated_texts": [""] * COUNT,
        "errors": [""] * COUNT,
    }
    figures = {
        f"{stat}_{name}_ms": found[f"{metric}_{stat}"]
        for metric, name in (("ttft", "ttft"), ("tpot", "tpot"), ("latency", "e2el"))
        for stat in ("mean", "median", "p99")
    }
    result = settings | detail | figures | fields
    return {name: value for name, value in result.items() if value is not None or name == "max_concurrency"}


def write_bench(path: Path, result: dict[str, Any]) -> Path:
    """As the client writes it: one line."""
    path.write_text(json.dumps(result), "utf-8")
    return path
