"""`simulate`: a deployment under traffic, iteration by iteration as its scheduler would form them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from profiling.console import emit
from profiling.paths import default_db
from server.console import json_flag
from servingsim.errors import ServingSimError
from servingsim.timing.contract import Dtype
from servingsim.timing.coverage import OnMissing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

EXAMPLES = """\b
Examples:
  servingsim simulate llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --rate 8 --input-tokens 1024:0.6 --output-tokens 200
  servingsim simulate llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --replicas 8 --workload trace.csv --out build/run
  servingsim simulate llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --replicas 4 --decode-replicas 4 \\
    --workload trace.jsonl --prefix-caching
  servingsim simulate --deployment served.json --workload traffic.json --set pools.0.scheduler.watermark=0.01

A length is MEAN tokens, or MEAN:SIGMA of a log-normal. TPOT is (latency - TTFT) / (output tokens - 1). Exit codes: 0
simulated, 2 refused, 130 interrupted.
"""

POLICY_NAMES = ("vllm", "sglang", "sarathi", "prefill_first")
ROUTER_NAMES = ("round_robin", "least_outstanding", "least_kv", "prefix_affine")


def deployment_options(command: F) -> F:
    """Options that say what serves, for every command that simulates."""
    options = (
        click.option(
            "--device", help="Device key of the store, of every pool, or `cpu` or `cuda` for the one at hand."
        ),
        click.option(
            "--threads", type=click.IntRange(1), help="Threads of the CPU at hand; part of its device key."
        ),
        click.option("--stack", help="Serving stack: a file of archs/stacks.  [default: vllm]"),
        click.option(
            "--stack-version", help="Version whose imported rows are used, where there are several."
        ),
        click.option("--tp", type=click.IntRange(1), help="Tensor-parallel ranks of a replica."),
        click.option("--pp", type=click.IntRange(1), help="Pipeline stages of a replica."),
        click.option("--ep", type=click.IntRange(1), help="Ranks that share the experts."),
        click.option(
            "--replicas",
            type=click.IntRange(1),
            help="Copies of the model; with --decode-replicas those that prefill.",
        ),
        click.option(
            "--decode-replicas",
            type=click.IntRange(1),
            help="Copies that only decode: prefill and decode apart.",
        ),
        click.option(
            "--policy", type=click.Choice(POLICY_NAMES), help="How iterations are formed.  [default: vllm]"
        ),
        click.option("--router", type=click.Choice(ROUTER_NAMES), help="Which replica gets a request."),
        click.option(
            "--max-num-tokens", type=click.IntRange(1), help="New tokens of an iteration.  [default: 2048]"
        ),
        click.option(
            "--max-num-seqs", type=click.IntRange(1), help="Requests that run at once.  [default: 256]"
        ),
        click.option(
            "--max-model-len", type=click.IntRange(2), help="Longest request; default: the model's."
        ),
        click.option("--prefix-caching", is_flag=True, default=None, help="Reuse KV blocks by content."),
        click.option("--dtype", type=click.Choice(get_args(Dtype)), help="In place of the config's."),
        click.option("--kv-dtype", type=click.Choice(get_args(Dtype)), help="Of the KV cache."),
        click.option(
            "--on-missing",
            type=click.Choice(get_args(OnMissing)),
            help="Where no row answers.  [default: estimate-all]",
        ),
        click.option(
            "--deployment",
            type=click.Path(path_type=Path),
            help="JSON with fields of a deployment, below the flags.",
        ),
        click.option(
            "--set",
            "fields",
            multiple=True,
            metavar="FIELD=VALUE",
            help="Any other field, as pools.0.host.eager_ms=4 or workload.arrivals.cv=3.",
        ),
        click.option("--db", metavar="PATH", help="The store; default $SERVINGSIM_DB or ./servingsim.db."),
    )
    return _with(options, command)


def serving_options(command: F) -> F:
    """Options that say what is served and under which traffic."""
    options = (
        click.option(
            "--workload",
            type=click.Path(path_type=Path),
            help="A file of requests, or JSON with fields of a workload.",
        ),
        click.option("--rate", type=float, help="Mean requests a second; stretches the arrivals of a file."),
        click.option(
            "--users",
            type=click.IntRange(1),
            help="Closed loop: each sends its next request when its last is done.",
        ),
        click.option(
            "--arrivals",
            type=click.Choice(["poisson", "gamma", "constant", "burst"]),
            help="How requests come.  [default: poisson]",
        ),
        click.option("--input-tokens", metavar="MEAN[:SIGMA]", help="Prompt lengths."),
        click.option("--output-tokens", metavar="MEAN[:SIGMA]", help="Output lengths."),
        click.option(
            "--requests", type=click.IntRange(1), help="Requests; of a file the first ones.  [default: 1000]"
        ),
        click.option("--seed", type=click.IntRange(0), help="Of everything that is drawn.  [default: 0]"),
    )
    return deployment_options(_with(options, command))


def _with(options: tuple[Callable[[F], F], ...], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


@click.command("simulate", epilog=EXAMPLES)
@click.argument("model", required=False)
@serving_options
@click.option("--slo-ttft-ms", type=float, help="Goodput: most TTFT of a request.")
@click.option("--slo-tpot-ms", type=float, help="Goodput: most TPOT of a request.")
@click.option(
    "--log",
    "log_every",
    type=click.IntRange(1),
    help="Keep every so-many-th iteration in --out: iterations.parquet.",
)
@click.option(
    "--interval/--no-interval",
    default=True,
    show_default=True,
    help="Simulate twice more, with kernels at the ends of their 90 % intervals.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the report, the requests, the page and the trace.",
)
@json_flag
def simulate(  # noqa: PLR0913 - one parameter an option
    *,
    deployment: Path | None,
    workload: Path | None,
    fields: tuple[str, ...],
    db: str | None,
    slo_ttft_ms: float | None,
    slo_tpot_ms: float | None,
    log_every: int | None,
    interval: bool,
    out: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - fields of a deployment and a workload, checked there and by click
) -> None:
    """Simulate serving MODEL under traffic: a config.json, its folder, or a bundled name.

    Latencies, throughput, where the time of the devices goes, and what each figure rests on. What is not modelled
    (host time unless it is given, the network to the client) is listed.
    """
    from profiling.source import StoreSource  # noqa: PLC0415 - a help text needs none of this
    from server.measuring import open_store  # noqa: PLC0415
    from server.serving.outputs import Outputs  # noqa: PLC0415
    from server.serving.progress import watching_run  # noqa: PLC0415
    from server.serving.request import asked  # noqa: PLC0415
    from server.serving.run import served  # noqa: PLC0415
    from server.serving_page.view import show  # noqa: PLC0415
    from servingsim.sim.results.report import Slo  # noqa: PLC0415
    from servingsim.sim.results.results import results_of  # noqa: PLC0415
    from servingsim.validation import parse  # noqa: PLC0415

    wanted = asked(flags, deployment=deployment, workload=workload, fields=fields)
    given = {"ttft_ms": slo_ttft_ms, "tpot_ms": slo_tpot_ms}
    slo = parse(Slo, given, where="SLO") if slo_ttft_ms or slo_tpot_ms else None
    if log_every and not out:
        raise ServingSimError("--log without --out", hint="say with --out where the iterations are kept")
    files: list[Path] = []
    with ExitStack() as stack:
        outputs = (
            stack.enter_context(Outputs(out, wanted.deployment, log_every=log_every or 0)) if out else None
        )
        store = stack.enter_context(open_store(Path(db or default_db()), create=False))
        simulated = served(
            wanted.deployment,
            wanted.workload,
            StoreSource(store),
            on_progress=stack.enter_context(watching_run()),
            on_log=outputs.add if outputs else None,
        )
        report = results_of(simulated, slo=slo, interval=interval)
        files = outputs.finish(report, simulated) if outputs else []
    if as_json:
        emit(report.model_dump(mode="json"))
        return
    show(report)
    for file in files:
        click.echo(f"wrote {file}")


COMMAND = simulate
