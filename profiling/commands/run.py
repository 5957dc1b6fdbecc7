"""`run`: measure shapes and store their times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from profiling.console import db_option, emit, json_option, say
from profiling.measure import run_planned
from profiling.paths import default_db
from profiling.plan import Job, RunSettings, plan, refuse_impossible
from profiling.progress import watching
from profiling.registry import kind_named
from profiling.report import MeasureInterrupted, MeasureReport
from profiling.row_table import print_rows
from profiling.specs import read_specs
from profiling.store import Store

if TYPE_CHECKING:
    from profiling.contract import DeviceType

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
DEFAULTS = RunSettings()

EXAMPLES = """\b
Examples:
  python -m profiling run single_gemm --backend torch --db rows.db \\
    --spec '{"m": [1, 16, 256], "n": 4096, "k": 4096, "dtype": "bf16"}' --json
  python -m profiling run rms_norm --backend torch --db rows.db --spec @shapes.json

A rerun measures what is missing. Exit code 1: some shapes failed, each with its reason.
"""


@click.command("run", epilog=EXAMPLES)
@click.argument("kind")
@click.option("--backend", required=True, help="Which backend runs it: see `list`.")
@click.option(
    "--spec",
    required=True,
    metavar="JSON",
    help="An object of args or a list of them, @file or - for stdin. A list as a value is a sweep.",
)
@click.option(
    "--threads", type=int, help="Threads for CPU kernels, part of the device key; default: all cores."
)
@click.option("--device-type", type=click.Choice(["cpu", "cuda"]), help="For backends that run on both.")
@click.option(
    "--budget",
    "budget_s",
    type=float,
    default=DEFAULTS.budget_s,
    show_default=True,
    help="Seconds of samples a shape.",
)
@click.option(
    "--min-samples",
    type=int,
    default=DEFAULTS.min_samples,
    show_default=True,
    help="Samples a shape at least.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=float,
    default=DEFAULTS.timeout_s,
    show_default=True,
    help="Seconds a shape in all.",
)
@click.option("--force", is_flag=True, help="Measure rows that are there already again.")
@click.option("--retry-outliers", is_flag=True, help="Measure rows again whose samples could not be trusted.")
@click.option("--isolate", is_flag=True, help="A fresh worker process for every shape.")
@click.option(
    "--python",
    default="",
    metavar="PATH",
    help="Interpreter of the workers, for a library with an environment of its own (vllm_cpu).  [default: this one]",
)
@db_option
@json_option
def run(  # noqa: PLR0913 - one parameter an option
    kind: str,
    backend: str,
    spec: str,
    db: str | None,
    *,
    threads: int | None,
    device_type: DeviceType | None,
    budget_s: float,
    min_samples: int,
    timeout_s: float,
    force: bool,
    retry_outliers: bool,
    isolate: bool,
    python: str,
    as_json: bool,
) -> int:
    """Measure shapes of KIND in a worker process and store each time as it is taken."""
    settings = RunSettings(
        threads, budget_s, min_samples, timeout_s, force, retry_outliers, isolate, device_type, python
    )
    planned = plan([Job(kind, backend, read_specs(kind_named(kind), spec))], settings)
    refuse_impossible(planned)
    with Store.open(db or default_db(), create=True) as store, watching() as on_progress:
        try:
            report = run_planned(store, planned, settings=settings, on_progress=on_progress)
        except MeasureInterrupted as interrupt:
            report = interrupt.report
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        _print(kind, report)
    if report.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if report.failed else 0


COMMAND = run


def _print(kind: str, report: MeasureReport) -> None:
    print_rows(kind_named(kind).fields, report.rows)
    for shape in report.failed:
        say(f"failed: {shape.kind} {shape.backend} {shape.args}: {shape.reason}")
    say(
        f"{report.measured} measured ({report.outliers} outliers), {report.skipped} skipped, "
        f"{len(report.failed)} failed, in {report.elapsed_s:.1f} s: {report.db}"
    )
    if report.interrupted:
        say("interrupted: the same command goes on from here")
