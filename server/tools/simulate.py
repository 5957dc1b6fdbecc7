"""`simulate`: a deployment under traffic, iteration by iteration, from measured kernels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from server.tool import Tool
from servingsim.sim.results.report import ServingFigures
from skills.request import WorkRequest

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

LIMIT_S = 3600.0
LONG = ("series", "curves", "run")
"""Parts of a report for plots: an agent pays for every number."""


class SimulateIn(WorkRequest):
    """Model, deployment and traffic."""

    model: str = Field(max_length=1000, description="bundled name, or path of a config.json or its folder")
    device: str = Field(max_length=200, description="device key")
    stack: str = Field("vllm", max_length=100, description="serving stack")
    tp: int = Field(1, ge=1, le=1024, description="tensor-parallel ranks")
    replicas: int = Field(1, ge=1, le=64, description="copies of the model")
    decode_replicas: int = Field(0, ge=0, le=64, description="above 0: `replicas` only prefill, these decode")
    policy: Literal["vllm", "sglang", "sarathi", "prefill_first"] = "vllm"
    workload: str = Field("", max_length=1000, description="file of requests; empty: drawn")
    rate: float = Field(0, ge=0, le=1e6, description="requests a second; 0: as filed")
    requests: int = Field(0, ge=0, le=1_000_000, description="0: all of the file, or 1000")
    input_tokens: str = Field("", max_length=40, description="MEAN[:SIGMA of log-normal], drawn")
    output_tokens: str = Field("", max_length=40, description="likewise")
    slo_ttft_ms: float = Field(0, ge=0, description="for the goodput; 0: none")
    slo_tpot_ms: float = Field(0, ge=0, description="likewise")
    fields: dict[str, Any] = Field(
        default={},
        description="any other: pools.0.scheduler.max_num_seqs, pools.0.host.eager_ms, workload.seed",
    )
    db: str = Field("", description="store; empty: the server's")


def run(request: SimulateIn, desk: Desk, watch: Watch) -> ServingFigures:
    """Simulate in a process that may import what the workspace adds; this one may not."""
    from server.child import answer_of  # noqa: PLC0415 - processes only where needed

    words = ["-m", "server.cli", "simulate", "--json", *serving_words(request, desk)]
    for limit in ("ttft", "tpot"):
        if value := getattr(request, f"slo_{limit}_ms"):
            words += [f"--slo-{limit}-ms", str(value)]
    answer = answer_of([*words, "--", model_path(request.model, desk)], desk, timeout_s=LIMIT_S, watch=watch)
    return figures(answer.data)


def figures(report: dict[str, Any]) -> ServingFigures:
    """A whole report without what only a plot needs."""
    return ServingFigures.model_validate({name: value for name, value in report.items() if name not in LONG})


def model_path(model: str, desk: Desk) -> str:
    """A bundled model's file, or a path that may be read."""
    from servingsim.archs.models import bundled  # noqa: PLC0415 - only the tool that runs needs it

    return str(bundled().get(model.lower()) or desk.readable(model, what="model"))


def serving_words(request: SimulateIn, desk: Desk) -> list[str]:
    """The request as words of the command line."""
    db = desk.readable(request.db, what="db") if request.db else desk.db
    words = ["--db", str(db), "--device", request.device, "--stack", request.stack, "--tp", str(request.tp)]
    words += ["--replicas", str(request.replicas), "--policy", request.policy]
    named = ("decode_replicas", "rate", "requests", "input_tokens", "output_tokens")
    for name in named:
        if value := getattr(request, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if request.workload:
        words += ["--workload", str(desk.readable(request.workload, what="workload"))]
    for name, value in request.fields.items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    return words


TOOL = Tool(
    name="simulate",
    title="Simulate serving",
    description=(
        "Simulates a deployment under traffic, every scheduler iteration priced from measured kernels: TTFT, TPOT, "
        "ITL, throughput, goodput, margin to saturation, and where the time of the devices goes. Says what each figure "
        "rests on and what is not modelled. Host time is 0 unless fields give it. Use predict for one iteration, "
        "sweep for many deployments or loads. Example: "
        '{"model": "llama-3.1-8b", "device": "NVIDIA H100 80GB HBM3", "rate": 8, "input_tokens": "1024:0.6", '
        '"output_tokens": "200"}'
    ),
    takes=SimulateIn,
    gives=ServingFigures,
    run=run,
    place="worker",
)
