"""`profile_kernel`: measure shapes of a kernel kind on this machine into the store of rows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.tool import Tool
from skills.request import WorkRequest

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

DONE = re.compile(r"\[(\d+)/(\d+)\] ")
LIMIT_S = 4 * 3600.0
EXIT_INTERRUPTED = 130


class ProfileKernelIn(WorkRequest):
    """What to measure and how."""

    kind: str = Field(max_length=100, description="kernel kind: servingsim://kernels")
    backend: str = Field(max_length=100, description="what runs it, e.g. torch")
    specs: list[dict[str, Any]] = Field(
        min_length=1, max_length=10_000, description="args; a list as a value is a sweep, multiplied out"
    )
    device_type: Literal["cpu", "cuda"] | None = Field(None, description="for backends of both")
    threads: int | None = Field(None, ge=1, le=4096, description="CPU threads, part of the device key")
    db: str = Field("", description="store in the workspace; empty: the server's")


class FailedShape(BaseModel):
    """A shape without a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    args: dict[str, Any]
    reason: str


class ProfileKernelOut(BaseModel):
    """What was measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    db: str
    devices: list[str] = Field(description="device keys of the rows")
    measured: int
    skipped: int = Field(description="there already")
    outliers: int = Field(description="measured on a busy machine, not to be trusted")
    elapsed_s: float
    failed: list[FailedShape]
    rows: list[dict[str, Any]] = Field(description="args, median_ms, spread and provenance")


def run(request: ProfileKernelIn, desk: Desk, watch: Watch) -> ProfileKernelOut:
    """Measure in a process that may import the workspace's kinds and backends; this one may not."""
    from server.child import answer_of  # noqa: PLC0415 - processes only where needed
    from servingsim.errors import ServingSimError  # noqa: PLC0415

    db = desk.writable(request.db, what="db") if request.db else desk.db

    def on_line(line: str) -> None:
        print(line, flush=True)  # noqa: T201 - the job's log
        if match := DONE.match(line):
            watch.progress(float(match[1]), float(match[2]), line.partition("] ")[2])

    answer = answer_of(
        ["-m", "profiling", "run", "--db", str(db), *_words(request)],
        desk,
        timeout_s=LIMIT_S,
        stdin=json.dumps(request.specs),
        watch=watch,
        on_line=on_line,
    )
    if answer.code == EXIT_INTERRUPTED:
        raise ServingSimError("measuring was interrupted", code="E_CANCELLED", hint="call again to go on")
    report = answer.data
    return ProfileKernelOut(
        **{name: report[name] for name in ("db", "devices", "measured", "skipped", "outliers", "elapsed_s")},
        failed=[FailedShape(args=each["args"], reason=each["reason"]) for each in report["failed"]],
        rows=report["rows"],
    )


def _words(request: ProfileKernelIn) -> list[str]:
    words = ["--backend", request.backend, "--spec", "-", "--json"]
    if request.device_type:
        words += ["--device-type", request.device_type]
    if request.threads:
        words += ["--threads", str(request.threads)]
    return [*words, "--", request.kind]


TOOL = Tool(
    name="profile_kernel",
    title="Measure a kernel",
    description=(
        "Measure how long shapes of a kernel take on this machine and store each as a row. Shapes that are "
        "there already are skipped, so a call that was broken off goes on where it stopped. Kinds and backends "
        "of the workspace are included. Only one measurement runs at a time on a machine. Example: "
        '{"kind": "rms_norm", "backend": "torch", "device_type": "cpu", '
        '"specs": [{"num_tokens": [1, 64], "hidden_size": 1024, "dtype": "fp32"}]}.'
    ),
    takes=ProfileKernelIn,
    gives=ProfileKernelOut,
    run=run,
    place="worker",
    measures=True,
    writes=True,
)
