"""`capture`: profiles of real runs, read into steps, kernels and gaps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from profiling.captures.contract import Phase
from profiling.console import emit
from server.console import json_flag

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
FILE = click.Path(path_type=Path)
PHASE_HELP = "Of everything whose phase the file does not say: files without an engine's annotations."
EXAMPLES = """\b
Examples:
  servingsim capture show rank0.pt.trace.json.gz
  servingsim capture sequence rank0.pt.trace.json.gz --step 0
  servingsim capture import run.sqlite --out run.capture.parquet
  servingsim capture show cuda_gpu_kern_sum.csv --phase decode --json
  servingsim capture record path/to/model --python ~/vllm/bin/python --out build/recorded
"""


def phase_option(command: F) -> F:
    """`--phase`."""
    return click.option("--phase", type=click.Choice(get_args(Phase)), help=PHASE_HELP)(command)


@click.group("capture", epilog=EXAMPLES)
def capture() -> None:
    """Profiles of real runs: torch profiler traces, Nsight Systems exports and summaries, lists of kernels.

    Every launch is kept and every nanosecond counted once; durations that cannot be true are reported and left
    out of the sums. What a kernel computes is suggested with a confidence, never proven.
    """


@capture.command("import")
@click.argument("file", type=FILE)
@click.option(
    "--out", type=FILE, help="Where to; default: FILE's name with .capture.parquet, in this folder."
)
@json_flag
def import_(file: Path, out: Path | None, *, as_json: bool) -> None:
    """Read FILE and keep what it holds in a compact file, which every command takes in its place."""
    from profiling.captures.kept import SUFFIX  # noqa: PLC0415 - numpy, only where a capture is read
    from profiling.captures.loading import import_capture  # noqa: PLC0415
    from server.capture_view import facts_of  # noqa: PLC0415

    target = out or Path(file.name.split(".", maxsplit=1)[0] + SUFFIX)
    read = import_capture(file, target)
    if as_json:
        emit({"written": str(target), **facts_of(read)})
        return
    click.echo(f"{len(read.launches) or len(read.summaries)} launches or totals written to {target}")
    for finding in read.findings:
        click.echo(f"{finding.kind}: {finding.what}")


@capture.command("show")
@click.argument("file", type=FILE)
@phase_option
@click.option("--only", type=click.Choice(get_args(Phase)), help="Only the kernels of this phase.")
@click.option(
    "--limit", type=click.IntRange(1), default=25, show_default=True, help="Kernels of a phase printed."
)
@json_flag
def show_(file: Path, phase: Phase | None, only: Phase | None, limit: int, *, as_json: bool) -> None:
    """Print devices, steps, and kernels by phase with their shares; JSON holds every kernel."""
    from profiling.captures.loading import load  # noqa: PLC0415 - numpy, only where a capture is read
    from server.capture_view import facts_of, show  # noqa: PLC0415

    read = load(file, phase=phase)
    if as_json:
        emit(facts_of(read, only))
    else:
        show(read, only, limit)


@capture.command("sequence")
@click.argument("file", type=FILE)
@click.option("--step", type=int, help="Its index; -1 is what no step holds. Default: the first step.")
@click.option("--device", type=int, help="Default: the one on which the step launched most.")
@click.option("--gaps", type=click.IntRange(0), default=5, show_default=True, help="Longest gaps told.")
@json_flag
def sequence(file: Path, step: int | None, device: int | None, gaps: int, *, as_json: bool) -> None:
    """Print what one step launched, in time, repetitions folded without loss, and when the device ran nothing."""
    from profiling.captures.loading import load  # noqa: PLC0415 - numpy, only where a capture is read
    from server.capture_view import sequence_facts, show_sequence  # noqa: PLC0415

    read = load(file)
    parts, idle = read.sequence(step, device), read.gaps(step, gaps)
    if as_json:
        emit({"parts": sequence_facts(parts), "gaps": [asdict(each) for each in idle]})
    else:
        show_sequence(parts, idle)


@capture.command("record")
@click.argument("model")
@click.option(
    "--out", type=FILE, required=True, help="Folder for the log, the capture and the engine's messages."
)
@click.option("--python", type=FILE, help="The interpreter that has vLLM.  [default: this one]")
@click.option(
    "--max-num-tokens", type=click.IntRange(16), default=512, show_default=True, help="Of an iteration."
)
@click.option(
    "--max-num-seqs", type=click.IntRange(1), default=16, show_default=True, help="That run at once."
)
@click.option(
    "--max-model-len", type=click.IntRange(64), default=2048, show_default=True, help="Longest request."
)
@click.option("--eager", is_flag=True, help="Without torch.compile and CUDA graphs.")
@click.option("--threads", type=click.IntRange(0), default=0, help="CPU threads.  [default: vLLM's choice]")
@click.option("--runs", type=click.IntRange(2), default=3, show_default=True, help="Runs that count.")
@click.option("--requests", type=click.IntRange(1), default=12, show_default=True, help="Of a run.")
@click.option(
    "--prompt-tokens", type=click.IntRange(1), default=192, show_default=True, help="Mean; half to twice."
)
@click.option(
    "--output-tokens", type=click.IntRange(1), default=24, show_default=True, help="Mean; half to twice."
)
@click.option(
    "--rate", type=click.FloatRange(0), default=0.0, help="Requests a second.  [default: all at once]"
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the lengths and arrivals."
)
@click.option(
    "--profiler",
    type=click.Choice(["torch", "nsys"]),
    default="torch",
    show_default=True,
    help="nsys: Nsight Systems, where it is installed and the engine runs on a GPU.",
)
@json_flag
def record_(
    *,
    model: str,
    out: Path,
    python: Path | None,
    requests: int,
    prompt_tokens: int,
    output_tokens: int,
    rate: float,
    seed: int,
    as_json: bool,
    **engine: Any,  # noqa: ANN401 - fields of a RecordRequest, checked by click
) -> None:
    """Run a local vLLM on MODEL with random weights: a capture of its kernels and a log of its iterations.

    MODEL is a config.json, its folder, or a bundled name; no weights are needed. A sweep over iteration sizes runs
    under the profiler, the same traffic then runs several times without it. `servingsim align` takes both files,
    `split` the capture.
    """
    import sys  # noqa: PLC0415 - a help text needs none of this

    from profiling.captures.recording.plan import Traffic  # noqa: PLC0415
    from profiling.captures.recording.record import RecordRequest, record  # noqa: PLC0415
    from servingsim.archs.models import config_path  # noqa: PLC0415

    path = config_path(model)
    recorded = record(
        RecordRequest(
            config=path / "config.json" if path.is_dir() else path,
            python=python or Path(sys.executable),
            out=out,
            traffic=Traffic(requests, prompt_tokens, output_tokens, rate, seed),
            **engine,
        )
    )
    then = f"servingsim align {model} --log {recorded.log} --capture {recorded.capture}"
    if as_json:
        emit({"log": str(recorded.log), "capture": str(recorded.capture), "then": then})
        return
    click.echo(f"wrote {recorded.log} and {recorded.capture}")
    click.echo(f"then: {then}")


COMMAND = capture
