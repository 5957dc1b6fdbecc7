"""`align`: what an engine really did beside what is predicted of it."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from profiling.console import emit
from profiling.paths import default_db
from server.console import json_flag
from servingsim.errors import ServingSimError
from servingsim.timing.contract import Dtype

if TYPE_CHECKING:
    from profiling.device import LocalDevice
    from profiling.source import StoreSource
    from servingsim.sim.missing import MissingKernel

LOCAL = ("cpu", "cuda")
FILE = click.Path(path_type=Path)
EXAMPLES = """\b
Examples:
  servingsim align path/to/model --log iterations.jsonl --capture trace.json.gz
  servingsim align llama-3.1-8b --log iterations.jsonl --device "NVIDIA H100 80GB HBM3" --db rows.db
  servingsim align path/to/model --log iterations.jsonl --capture trace.json.gz --fit-on 2 --json
  servingsim align path/to/model --log iterations.jsonl --stack vllm_cpu --device cpu --threads 1 --fill \\
    --python ~/vllm/bin/python

The log is JSON lines as `servingsim capture record` writes them: a header, a line an iteration, a line a request.
Exit codes: 0 aligned (whatever the error), 2 refused.
"""


@click.command("align", epilog=EXAMPLES)
@click.argument("model")
@click.option("--log", type=FILE, required=True, help="Iterations (and requests) of at least two runs.")
@click.option("--capture", type=FILE, help="A profile of the same engine: its kernels, and errors op by op.")
@click.option("--device", help="Device key of the store: kernels come from its rows, not from the capture.")
@click.option("--db", metavar="PATH", help="The store; default $SERVINGSIM_DB or ./servingsim.db.")
@click.option("--fill", is_flag=True, help="Measure missing rows on this machine first.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the CPU at hand; part of its device key.")
@click.option(
    "--python",
    default="",
    metavar="PATH",
    help="Interpreter that has the engine, to measure its own callables.",
)
@click.option("--stack", default="vllm", show_default=True, help="Serving stack: a file of archs/stacks.")
@click.option("--stack-version", help="Version whose imported rows are used, where there are several.")
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Tensor-parallel ranks.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)), help="In place of the config's.")
@click.option("--kv-dtype", type=click.Choice(get_args(Dtype)), help="Of the KV cache.")
@click.option("--fit-on", metavar="RUN", help="Run that the host's part is fitted on.  [default: the first]")
@json_flag
def align(  # noqa: PLR0913 - one parameter an option
    *,
    model: str,
    log: Path,
    capture: Path | None,
    device: str | None,
    db: str | None,
    fill: bool,
    threads: int | None,
    python: str,
    stack: str,
    stack_version: str | None,
    tp: int,
    dtype: Dtype | None,
    kv_dtype: Dtype | None,
    fit_on: str | None,
    as_json: bool,
) -> None:
    """Set measured runs of an engine beside their prediction: iterations, requests, kernels.

    MODEL is a config.json, its folder, or a bundled name. Kernel times come from the capture or from a store of
    measured rows, the host's part is fitted on one run of the log, and every other run is judged: error of each
    iteration, of TTFT, TPOT and throughput, and op by op of what the capture holds.
    """
    from server.align.align import align as aligned  # noqa: PLC0415 - a help text needs none of this
    from server.align.request import AlignRequest  # noqa: PLC0415
    from server.align.view import show  # noqa: PLC0415
    from server.measuring import local_device, measured_limits  # noqa: PLC0415

    if fill and not device:
        raise ServingSimError("--fill without --device", hint="--device cpu measures on this machine")
    local = local_device(device, threads) if device and (fill or device in LOCAL) else None
    request = AlignRequest(
        model=model,
        log=log,
        capture=capture,
        stack=stack,
        tp=tp,
        device=local.name if local else device,
        stack_version=stack_version,
        dtype=dtype,
        kv_dtype=kv_dtype,
        fit_on=fit_on,
    )
    with ExitStack() as opened:
        source = _store(db, opened, create=fill) if device else None
        measure = None
        if fill and source and local:
            measured_limits(source.store, local)
            measure = partial(_measure, source, local, python)
        report = aligned(request, source, measure)
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


def _measure(
    source: StoreSource, local: LocalDevice, python: str, missing: tuple[MissingKernel, ...]
) -> None:
    from server.measuring import fill  # noqa: PLC0415 - only where something is measured

    # Rows whose samples a neighbour disturbed are taken again, once.
    for _ in range(2 if missing else 0):
        fill(source.store, local, missing, python)


def _store(db: str | None, opened: ExitStack, *, create: bool) -> StoreSource:
    from profiling.source import StoreSource  # noqa: PLC0415 - sqlite only where it is needed
    from server.measuring import open_store  # noqa: PLC0415

    path = Path(db or default_db())
    if not create and not path.exists():
        raise ServingSimError(
            "no such database",
            code="E_NOT_FOUND",
            path=str(path),
            hint="leave --device out to take kernels from --capture, or import and measure rows first",
        )
    return StoreSource(opened.enter_context(open_store(path, create=create)))


COMMAND = align
