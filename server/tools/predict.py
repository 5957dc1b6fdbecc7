"""`predict`: one iteration of a model on a device, op by op, from measured rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.tool import Tool
from skills.request import WorkRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skills.desk import Desk
    from skills.watch import Watch

LIMIT_S = 600.0
MOST_REQUESTS = 256


class PredictIn(WorkRequest):
    """Model, device and batch."""

    model: str = Field(max_length=1000, description="bundled name, or path of a config.json or its folder")
    device: str = Field(max_length=200, description="device key, or cpu or cuda for the one here")
    stack: str = Field("vllm", max_length=100, description="serving stack")
    tp: int = Field(1, ge=1, le=1024, description="tensor-parallel ranks")
    ep: int = Field(1, ge=1, le=1024, description="ranks that share the experts")
    prefill: list[str] = Field(
        default=[], max_length=MOST_REQUESTS, description="NEW[:CACHED][xCOUNT] tokens each, e.g. 512:1024x4"
    )
    decode: list[str] = Field(
        default=[], max_length=MOST_REQUESTS, description="CONTEXT[xCOUNT] tokens before the step, e.g. 512x8"
    )
    dtype: Literal["bf16", "fp16", "fp32"] | None = Field(None, description="in place of the config's")
    threads: int | None = Field(None, ge=1, le=4096, description="of the CPU here")
    on_missing: Literal["estimate", "estimate-all", "refuse"] = Field(
        "estimate", description="for kernels without rows"
    )
    db: str = Field("", description="store to read; empty: the server's")


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OpTime(_Plain):
    """All launches of an op."""

    op: str
    kind: str
    launches: int
    time_ms: float
    error_percent: float | None = Field(description="half width of its 90 % interval; null: unknown")
    share: float = Field(description="of kernels_ms")
    efficiency: float | None = Field(description="physical limit / time")
    coverage: list[str] = Field(description="EXTRAPOLATED, JIT, NO_COVERAGE; empty: inside measured rows")
    backends: list[str] = Field(description="whose rows priced it")


class MissingTime(_Plain):
    """Rows that would lift a flag."""

    kind: str
    backend: str
    count: int
    specs: list[dict[str, Any]] = Field(description="for profile_kernel on that device")


class PredictOut(_Plain):
    """One predicted iteration, of one rank."""

    model_type: str
    device: str
    iteration_ms: float = Field(description="kernels_ms + host_ms")
    iteration_ms_90: tuple[float, float] | None = Field(
        description="90 % interval from the kernels' tables; null: unknown"
    )
    kernels_ms: float
    host_ms: float | None = Field(description="null: not modelled")
    bound_ms: float | None = Field(description="no implementation is faster; null: peaks unknown")
    bound_by: str
    uncovered_share: float = Field(description="of kernels_ms, resting on no measured row")
    fits: bool = Field(description="whether weights and KV fit the memory")
    kv_capacity_tokens: int
    validated_error: str
    notes: list[str]
    ops: list[OpTime] = Field(description="longest first")
    missing: list[MissingTime]


def run(request: PredictIn, desk: Desk, watch: Watch) -> PredictOut:
    """Predict in a process that may import what the workspace adds; this one may not."""
    from server.child import answer_of  # noqa: PLC0415 - processes only where needed

    db = desk.readable(request.db, what="db") if request.db else desk.db
    words = ["-m", "server.cli", "predict", "--json", "--db", str(db), *_words(request)]
    answer = answer_of([*words, "--", _model(request, desk)], desk, timeout_s=LIMIT_S, watch=watch)
    return trimmed(answer.data)


def trimmed(report: dict[str, Any]) -> PredictOut:
    """A whole prediction as the answer of a tool: its figures, and who to ask about each."""
    same = (
        "iteration_ms",
        "iteration_ms_90",
        "kernels_ms",
        "host_ms",
        "bound_ms",
        "bound_by",
        "uncovered_share",
    )
    return PredictOut(
        **{name: report[name] for name in (*same, "validated_error")},
        model_type=report["subject"]["model_type"],
        device=report["subject"]["device"],
        fits=report["memory"]["fits"],
        kv_capacity_tokens=report["memory"]["kv_capacity_tokens"],
        notes=list(_notes(report)),
        ops=[_op(row) for row in sorted(report["ops"], key=lambda row: -row["time_ms"])],
        missing=[
            MissingTime(**{name: each[name] for name in ("kind", "backend", "count", "specs")})
            for each in report["missing"]
        ],
    )


def _op(row: dict[str, Any]) -> OpTime:
    same = ("op", "kind", "launches", "time_ms", "error_percent", "share", "efficiency", "coverage")
    backends = sorted({f"{source['backend']} ({source['origin']})" for source in row["rows"]})
    return OpTime(**{name: row[name] for name in same}, backends=backends)


def _notes(report: dict[str, Any]) -> Iterator[str]:
    if report["tpot_note"]:
        yield report["tpot_note"]
    for each in report["unpriced"]:
        yield f"not priced: {each['name']} ({each['reason']})"
    if report["how_to_validate"]:
        yield f"to validate: {report['how_to_validate']}"


def _model(request: PredictIn, desk: Desk) -> str:
    from servingsim.archs.models import bundled  # noqa: PLC0415 - only the tool that runs needs it

    named = bundled().get(request.model.lower())
    return str(named or desk.readable(request.model, what="model"))


def _words(request: PredictIn) -> list[str]:
    words = ["--device", request.device, "--stack", request.stack, "--tp", str(request.tp)]
    words += ["--ep", str(request.ep)]
    words += ["--on-missing", request.on_missing]
    words += [word for text in request.prefill for word in ("--prefill", text)]
    words += [word for text in request.decode for word in ("--decode", text)]
    if request.dtype:
        words += ["--dtype", request.dtype]
    if request.threads:
        words += ["--threads", str(request.threads)]
    return words


TOOL = Tool(
    name="predict",
    title="Predict an iteration",
    description=(
        "Predict the time of one serving iteration of a model on a device, op by op, from measured kernels. "
        "Says what each figure rests on and which rows are missing; profile_kernel measures them. Example: "
        '{"model": "qwen3-0.6b", "device": "cpu", "stack": "transformers", "decode": ["512x8"]}.'
    ),
    takes=PredictIn,
    gives=PredictOut,
    run=run,
    place="worker",
)
