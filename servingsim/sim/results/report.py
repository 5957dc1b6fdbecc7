"""The report of a served workload. Field descriptions are the documentation of the JSON.

Times are milliseconds unless a name says `_s`; shares are 0 to 1; None means unknown or not applicable.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.validated.match import ValidatedPart


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Spread(_Part):
    """A distribution."""

    count: int = Field(description="values in it")
    mean: float = Field(description="mean")
    p50: float = Field(description="median")
    p90: float = Field(description="90th percentile")
    p95: float = Field(description="95th percentile")
    p99: float = Field(description="99th percentile")
    most: float = Field(description="largest")


class Traffic(_Part):
    """The requests that came."""

    name: str = Field(description="workload")
    source: str = Field(description="file and format, or distributions and seed")
    requests: int = Field(description="how many")
    rate_per_s: float | None = Field(
        description="mean arrivals a second; None in a closed loop or a single burst"
    )
    prompt_mean: float = Field(description="prompt tokens")
    output_mean: float = Field(description="output tokens")
    repeated_share: float = Field(description="prompt tokens that a prefix cache without end would hit")


class Outcome(_Part):
    """What became of them."""

    done: int = Field(description="requests served to their last token")
    rejected_length: int = Field(description="rejected: longer than max_model_len")
    rejected_kv: int = Field(description="rejected: never fits in the KV cache")
    preemptions: int = Field(description="times a request lost its KV cache and was computed again")
    iterations: int = Field(description="scheduler iterations of all replicas")
    span_s: float = Field(description="from the first arrival to the last token")


class Throughput(_Part):
    """Rates over the whole span, ramps included."""

    requests_per_s: float = Field(description="requests done")
    output_tokens_per_s: float = Field(description="output tokens")
    total_tokens_per_s: float = Field(description="prompt and output tokens")
    output_tokens_per_s_per_device: float = Field(description="output tokens a device of the deployment")


class Latency(_Part):
    """Of requests that were done."""

    ttft_ms: Spread | None = Field(description="arrival to first token")
    tpot_ms: Spread | None = Field(description="(end to end - TTFT) / (output tokens - 1), a request each")
    itl_ms: Spread | None = Field(description="gaps between tokens, one each; binned to 1.1 %")
    e2e_ms: Spread | None = Field(description="arrival to last token")
    queue_ms: Spread | None = Field(description="arrival to first iteration, in the pool entered first")


class Interval(_Part):
    """Low and high figures: all kernels as fast, and as slow, as the 90 % interval of their pool's kernel time allows.

    Two more simulations of the same requests; host time, lengths and arrivals are taken as exact.
    """

    ttft_mean_ms: tuple[float, float] | None = Field(description="mean TTFT")
    ttft_p90_ms: tuple[float, float] | None = Field(description="90th percentile of TTFT")
    tpot_mean_ms: tuple[float, float] | None = Field(description="mean TPOT")
    e2e_mean_ms: tuple[float, float] | None = Field(description="mean end to end")
    output_tokens_per_s: tuple[float, float] = Field(description="output tokens a second")


class Slo(_Part):
    """Limits that a request must keep, every one that is given."""

    ttft_ms: float | None = Field(None, gt=0, description="most TTFT")
    tpot_ms: float | None = Field(None, gt=0, description="most TPOT")
    e2e_ms: float | None = Field(None, gt=0, description="most end to end")


class Goodput(_Part):
    """How many requests keep the limits; rejected ones do not."""

    slo: Slo
    share: float = Field(description="of all requests that came")
    requests_per_s: float = Field(description="requests that keep them, over the span")


class Load(_Part):
    """How near the traffic is to what the deployment can take."""

    offered_per_s: float | None = Field(
        description="arrivals a second; None in a closed loop or a single burst"
    )
    capacity_per_s: float | None = Field(
        description="estimate: requests a second with every batch as full as memory and settings allow, at mean lengths"
    )
    share: float | None = Field(description="offered / capacity; margin to saturation is 1 minus it")
    limited_by: str = Field(
        description="pool with the least capacity and what fills its batches, or why unknown"
    )
    queue_growth: float | None = Field(
        description="observed: ms of queueing gained for each ms of arrivals; above 0.02 queues do not drain"
    )
    verdict: str = Field(
        description="`saturated`, `near capacity`, `below capacity`, `burst` or `closed loop`"
    )


class TimeSplit(_Part):
    """Where the time of workers went, shares of replicas x span; they add up to 1."""

    necessary: float = Field(
        description="no schedule and no kernel beats it: all FLOPs at the peak, or all bytes at the memory's rate with "
        "each replica's weights read once"
    )
    batching: float = Field(
        description="the same work in the iterations as formed: weights read in each, "
        "compute and memory not overlapped"
    )
    kernels: float = Field(description="compute kernels slower than the device's peaks")
    communication: float = Field(description="collectives and hand-over between pipeline stages")
    host: float = Field(description="host time of iterations; 0 where not modelled")
    imbalance: float = Field(
        description="waiting for the busiest replica of the pool, or for a larger pipeline stage"
    )
    idle: float = Field(
        description="no replica of the pool was busier: no work to do, or bubbles of a pipeline"
    )
    undivided: float = Field(description="compute kernels of a device whose peaks are unknown")


class OpShare(_Part):
    """One op over the whole run."""

    op: str = Field(description="path in the model")
    kind: str = Field(description="kernel kind")
    share: float = Field(description="of the pool's kernel time")
    tflop_per_s: float = Field(description="achieved, a rank")
    gb_per_s: float = Field(description="achieved, a rank")
    uncovered: float = Field(description="share of its time that is extrapolated or estimated")
    error_percent: float | None = Field(
        description="half width of the 90 % interval of its time; None where unknown"
    )


class PoolResult(_Part):
    """Replicas that are alike, all of them together."""

    name: str = Field(description="pool")
    device: str = Field(description="device key whose rows were used")
    replicas: int = Field(description="copies of the model")
    devices: int = Field(description="devices of all replicas")
    parallelism: str = Field(description="tp, pp and ep of a replica")
    policy: str = Field(description="scheduling policy")
    kv_tokens: int = Field(description="tokens that a replica's KV cache holds")
    iterations: int = Field(description="scheduler iterations")
    busy: float = Field(description="share of the span in which a replica's first stage ran")
    batch_tokens: Spread | None = Field(description="new tokens an iteration")
    mean_running: float = Field(description="requests that run, while iterations ran")
    mean_waiting: float = Field(description="requests that wait, while iterations ran")
    kv_used: float = Field(description="share of KV blocks in use, while iterations ran")
    mfu: float | None = Field(description="necessary FLOPs at the peak / busy time")
    mbu: float | None = Field(
        description="necessary bytes of the iterations at the memory's rate / busy time"
    )
    extrapolated: float = Field(description="share of kernel time beyond the measured rows")
    estimated: float = Field(description="share of kernel time that no row answers")
    error_percent: float | None = Field(
        description="half width of the 90 % interval of its kernel time, ops taken as independent; None where unknown"
    )
    time: TimeSplit
    ops: list[OpShare] = Field(description="largest first")


class Series(_Part):
    """Over time: means of equal bins of the span."""

    bin_s: float = Field(description="length of a bin")
    arrivals_per_s: list[float] = Field(description="requests that came")
    output_tokens_per_s: list[float] = Field(
        description="tokens, spread evenly from a request's first to its last"
    )
    waiting: list[float] = Field(description="requests before their first iteration")
    running: list[float] = Field(description="requests between first iteration and last token")


class Curves(_Part):
    """Latencies at equal steps of probability, 0 to 1, for plots."""

    ttft_ms: list[float]
    tpot_ms: list[float]
    itl_ms: list[float]
    e2e_ms: list[float]


class Trust(_Part):
    """How far to believe the figures."""

    validated_error: str = Field(description="measured errors of what it rests on, or `not validated`")
    validated: list[ValidatedPart] = Field(
        description="the same part by part: kinds of kernels by their time, each pool's serving last"
    )
    how_to_validate: str = Field(description="what would validate the rest; empty where everything is")
    table_error_p95: float | None = Field(
        description="95th percentile of the difference between the loop's tables and the model, share of an iteration"
    )
    sources: list[str] = Field(description="whose kernel measurements were used")
    host: list[str] = Field(description="where each pool's host times come from")
    notes: list[str] = Field(description="what the figures leave out or assume")


class RunFacts(_Part):
    """The simulation itself; the only figures that differ between equal runs."""

    build_s: float = Field(description="to compile and tabulate the models")
    loop_s: float = Field(description="to simulate")
    iterations_per_s: float = Field(description="simulated iterations a second of loop")


class ServingFigures(_Part):
    """A deployment under a workload: every figure."""

    model: str = Field(description="model, as its user named it")
    stack: str = Field(description="serving stack whose kernels were assumed")
    devices: int = Field(description="devices of all pools")
    summary: str = Field(description="the answer in a sentence")
    traffic: Traffic
    outcome: Outcome
    throughput: Throughput
    latency: Latency
    interval: Interval | None = Field(
        None, description="from kernels at the ends of their 90 % intervals; None: unknown, or not asked for"
    )
    goodput: Goodput | None = Field(description="None without an SLO")
    prefix_hit_share: float = Field(
        description="prompt tokens found in a prefix cache, of those of requests done"
    )
    load: Load
    time: TimeSplit = Field(description="of all devices")
    pools: list[PoolResult]
    trust: Trust


class ServingReport(ServingFigures):
    """A deployment under a workload: every figure, and what plots need."""

    series: Series
    curves: Curves
    run: RunFacts
