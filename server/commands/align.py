"""`align`: what an engine really did beside what is predicted of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.commands.simulate import deployment_options
from server.console import json_flag
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.align.log_kind import LogKind

FILE = click.Path(path_type=Path)
EXAMPLES = """\b
Examples:
  servingsim align path/to/model --log iterations.jsonl --capture trace.json.gz
  servingsim align llama-3.1-8b --log iterations.jsonl --device "NVIDIA H100 80GB HBM3" --db rows.db
  servingsim align path/to/model --log iterations.jsonl --capture trace.json.gz --fit-on 2 --json
  servingsim align path/to/model --log iterations.jsonl --stack vllm_cpu --device cpu --threads 1 --fill \\
    --python ~/vllm/bin/python
  servingsim align llama-3.1-8b --log result.json --device "NVIDIA H100 80GB HBM3" --max-num-seqs 128 \\
    --prefix-caching --set pools.0.scheduler.async_scheduling=true --fit-host
  servingsim align --log requests.jsonl --deployment served.json --json

What the log is, its content decides: iterations as `servingsim capture record` writes them, a line a request, or a
result of `vllm bench serve --save-result --save-detailed`. TPOT is (latency - TTFT) / (output tokens - 1).
Exit codes: 0 aligned (whatever the error), 2 refused.
"""
FIT_SHARE = 1 / 3
OF_ITERATIONS = ("device", "threads", "stack", "stack_version", "tp", "dtype", "kv_dtype")
"""Options of a deployment that a log of iterations takes too; its header says the rest."""


@click.command("align", epilog=EXAMPLES)
@click.argument("model", required=False)
@click.option(
    "--log", type=FILE, required=True, help="Iterations of at least two runs, requests, or a bench result."
)
@click.option("--capture", type=FILE, help="Iterations: a profile of the same engine, its kernels op by op.")
@click.option("--fill", is_flag=True, help="Iterations: measure missing rows on this machine first.")
@click.option(
    "--python",
    default="",
    metavar="PATH",
    help="Interpreter that has the engine, for --fill by its own callables.",
)
@click.option(
    "--fit-on", metavar="RUN", help="Iterations: run that the host is fitted on.  [default: the first]"
)
@click.option(
    "--fit-host", is_flag=True, help="Requests: take a host time from the first ones, judge the others."
)
@click.option(
    "--fit-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Share of the requests that --fit-host takes it from.  [default: 1/3]",
)
@deployment_options
@json_flag
def align(  # noqa: PLR0913 - one parameter an option
    *,
    log: Path,
    capture: Path | None,
    fill: bool,
    python: str,
    fit_on: str | None,
    fit_host: bool,
    fit_share: float | None,
    deployment: Path | None,
    fields: tuple[str, ...],
    db: str | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - fields of a deployment, checked there and by click
) -> None:
    """Set what an engine did beside its prediction: iterations, requests, kernels.

    MODEL is a config.json, its folder, or a bundled name. A log of iterations: kernel times come from the capture or,
    with --device, from a store of measured rows, the host's part is fitted on one run, and every other run is judged.
    A log of requests or a bench result: the same requests are served again by the deployment that the options say,
    with kernels of the store, and latencies, throughput and curves are compared.
    """
    from server.align.log_kind import kind_of  # noqa: PLC0415 - a help text needs none of this

    kind = kind_of(log)
    of_iterations = {"--capture": capture, "--fill": fill, "--python": python, "--fit-on": fit_on}
    of_requests = {
        "--fit-host": fit_host,
        "--fit-share": fit_share,
        "--deployment": deployment,
        "--set": fields,
    }
    if kind == "iterations":
        from server.align.of_iterations import align_iterations_log  # noqa: PLC0415 - only for this kind

        more = {
            f"--{name.replace('_', '-')}": each for name, each in flags.items() if name not in OF_ITERATIONS
        }
        more.pop("--model")
        _refuse(log, kind, of_requests | more)
        align_iterations_log(log, capture, fit_on, db, flags, fill=fill, python=python, as_json=as_json)
        return
    from server.align.of_requests import align_requests_log  # noqa: PLC0415 - only for this kind

    _refuse(log, kind, of_iterations)
    if fit_share and not fit_host:
        raise ServingSimError(
            "--fit-share without --fit-host", hint="add --fit-host, or leave --fit-share out"
        )
    share = (fit_share or FIT_SHARE) if fit_host else None
    align_requests_log(log, kind, share, db, flags, deployment=deployment, fields=fields, as_json=as_json)


def _refuse(log: Path, kind: LogKind, others: Mapping[str, object]) -> None:
    """Options that say nothing about this kind of log."""
    given = [name for name, value in others.items() if value]
    if given:
        says = "result of vllm bench serve" if kind == "bench" else f"log of {kind}"
        raise ServingSimError(
            f"{given[0]} with a {says}",
            path=str(log),
            hint="leave it out: `servingsim align --help` says which options go with which log",
        )


COMMAND = align
