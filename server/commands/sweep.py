"""`sweep`: many deployments or loads, the trade-offs between them, the cheapest that keeps the limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profiling.console import emit
from profiling.paths import default_db
from server.commands.simulate import serving_options
from server.console import json_flag
from server.json_input import decode_file, json_or_text
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\b
Examples:
  servingsim sweep llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --vary tp=1,2,4 --vary max_num_seqs=64,256 \\
    --rate 8 --input-tokens 1024 --output-tokens 200
  servingsim sweep llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --vary tp=1,2,4 --search rate \\
    --limit "ttft_ms.p90 <= 500" --limit "tpot_ms.p90 <= 20" --rate 1 --input-tokens 1024 --output-tokens 200 \\
    --out build/sweep

With --out a sweep that was broken off goes on where it stopped. Exit codes: 0 done, 1 no point keeps the limits, 2
refused, 130 interrupted.
"""


@click.command("sweep", epilog=EXAMPLES)
@click.argument("model", required=False)
@serving_options
@click.option(
    "--vary", multiple=True, metavar="FIELD=A,B", help="A field and its values; several make a grid."
)
@click.option(
    "--points",
    type=click.Path(path_type=Path),
    help="JSON list of objects, fields set together.",
)
@click.option("--limit", "limits", multiple=True, metavar="TEXT", help='As "ttft_ms.p90 <= 500"; repeatable.')
@click.option(
    "--search",
    type=click.Choice(["rate", "replicas"]),
    help="Highest rate, or fewest replicas, that keep the limits.",
)
@click.option(
    "--engine", default="processes", show_default=True, help="Where points run: here, processes, or ray."
)
@click.option("--workers", type=click.IntRange(1), help="Points at once; default: the processors here.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for outcomes (JSON lines), report and page."
)
@json_flag
@click.pass_context
def sweep(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    /,
    *,
    deployment: Path | None,
    workload: Path | None,
    fields: tuple[str, ...],
    db: str | None,
    vary: tuple[str, ...],
    points: Path | None,
    limits: tuple[str, ...],
    search: str | None,
    engine: str,
    workers: int | None,
    out: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - fields of a deployment and a workload, checked there and by click
) -> None:
    """Simulate MODEL at every point of a grid or a list, or search each for the highest rate that keeps limits."""
    from server.serving.bench import StoreBench  # noqa: PLC0415 - a help text needs none of this
    from server.serving.progress import watching_sweep  # noqa: PLC0415
    from server.serving.request import asked  # noqa: PLC0415
    from server.serving.sweep_view import show, written  # noqa: PLC0415
    from servingsim.sim.sweep.run import sweep as run_sweep  # noqa: PLC0415
    from servingsim.sim.sweep.spec import SweepSpec  # noqa: PLC0415
    from servingsim.validation import parse  # noqa: PLC0415

    wanted = asked(flags, deployment=deployment, workload=workload, fields=fields)
    spec = parse(
        SweepSpec,
        {
            "deployment": wanted.deployment,
            "workload": wanted.workload,
            "grid": [axis_of(text) for text in vary],
            "points": _points(points),
            "limits": list(limits),
            "search": {"kind": search} if search else None,
            "seed": wanted.workload.seed % 2**31,
        },
        where="sweep",
    )
    path = Path(db or default_db())
    if not path.is_file():
        raise ServingSimError(
            "no store of kernel times",
            code="E_NOT_FOUND",
            path=str(path),
            hint="give one with --db, or import rows first",
        )
    with watching_sweep() as on_progress:
        report = run_sweep(
            spec, StoreBench.of(path), folder=out, engine=engine, workers=workers, on_progress=on_progress
        )
    files = written(report, out) if out else []
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)
        for file in files:
            click.echo(f"wrote {file}")
    ctx.exit(1 if limits and not report.kept else 0)


COMMAND = sweep


def axis_of(text: str) -> dict[str, Any]:
    """`tp=1,2,4` as an axis; values are JSON where they can be, else text.

    Raises:
        ServingSimError: No field or no value.
    """
    field, found, values = text.partition("=")
    if not found or not field or not values:
        raise ServingSimError(f"--vary {text!r}", known="FIELD=VALUE,VALUE", hint="for instance tp=1,2,4")
    return {"field": field, "values": [json_or_text(each) for each in values.split(",")]}


def _points(path: Path | None) -> Sequence[Any]:
    if path is None:
        return ()
    data = decode_file(path)
    if not isinstance(data, list):
        raise ServingSimError("holds no list of points", known='[{"tp": 1}, {"tp": 2}]', path=str(path))
    return data
