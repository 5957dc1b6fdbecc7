"""`fidelity`: how far kernel times are off, on measured rows that the fit has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profiling.console import emit
from server.console import json_flag
from server.fidelity.watching import watching
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.timing.fidelity.run import MeasuredTable

EXAMPLES = """\b
Examples:
  servingsim fidelity --system h100_sxm --stack vllm --kind attention_decode
  servingsim fidelity --system h200_sxm --stack sglang --most-configs 0 --json
  servingsim fidelity --db rows.db --device "NVIDIA L4"
  servingsim fidelity --csv gemm.csv --kind single_gemm --device "NVIDIA L4" --backend mine

\b
The CSV has a header, one line a measurement, and the columns:
  every args field of the kind (docs/kernels.md), for single_gemm m, n, k and dtype,
  time_ms, time_us or time_s, and kind, device, backend where they are not given as options.
"""

SPLITS = ("powers", "own_grid", "every_other", "shapes")


@click.command("fidelity", epilog=EXAMPLES)
@click.option("--system", metavar="NAME", help="System of the package of measured GPU data: h100_sxm ...")
@click.option("--stack", metavar="NAME", help="With --system: vllm, sglang or trtllm.")
@click.option("--stack-version", default="", help="With --system; default: the one it calls current.")
@click.option("--db", type=click.Path(path_type=Path), help="Rows of a store: measured or imported ones.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Rows of a file of your own.")
@click.option("--kind", "kinds", multiple=True, help="Only this kernel kind; repeatable. For --csv one.")
@click.option("--device", default="", help="Only this device's rows; for --csv the device of all lines.")
@click.option("--backend", default="", help="Only this backend's rows; for --csv the backend of all lines.")
@click.option(
    "--split", "splits", multiple=True, type=click.Choice(SPLITS), help="Only this split; repeatable."
)
@click.option(
    "--most-configs",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    help="Configs of a table that are judged, spread evenly over it; 0: all.",
)
@json_flag
def fidelity(  # noqa: PLR0913 - one parameter an option
    *,
    system: str | None,
    stack: str | None,
    stack_version: str,
    db: Path | None,
    csv_file: Path | None,
    kinds: tuple[str, ...],
    device: str,
    backend: str,
    splits: tuple[str, ...],
    most_configs: int,
    as_json: bool,
) -> None:
    """Judge kernel times on measured rows that are held out of the fit.

    Of every Config some rows are kept, its cache is built from them, and the others are asked: sizes between those
    kept, and whole shapes where the kind interpolates over shapes. Beside each error stands that of log-log
    interpolation through the same rows. Nothing is measured here and nothing is written.
    """
    from server.fidelity.view import show  # noqa: PLC0415 - rich tables only where they are shown
    from servingsim.timing.fidelity.judge import Wanted  # noqa: PLC0415 - numba only where it is used
    from servingsim.timing.fidelity.run import fidelity as judge  # noqa: PLC0415 - as above

    _one_source(system, db, csv_file)
    tables, source = _tables(system, stack, stack_version, db, csv_file, kinds, device, backend)
    with watching() as (begun, tick):
        report = judge(
            tables, Wanted(splits, most_configs), source=source, notes=_notes(tables), begun=begun, tick=tick
        )
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


COMMAND = fidelity


def _one_source(system: str | None, db: Path | None, csv_file: Path | None) -> None:
    given = [name for name, value in (("--system", system), ("--db", db), ("--csv", csv_file)) if value]
    if len(given) != 1:
        raise ServingSimError(
            f"{' and '.join(given)} are given" if given else "no rows are named",
            known="one of --system with --stack, --db, --csv",
            hint="servingsim fidelity --system h100_sxm --stack vllm",
        )


def _tables(
    system: str | None,
    stack: str | None,
    version: str,
    db: Path | None,
    csv_file: Path | None,
    kinds: tuple[str, ...],
    device: str,
    backend: str,
) -> tuple[list[MeasuredTable], str]:
    from server.fidelity.csv_rows import csv_tables  # noqa: PLC0415 - the readers only when it runs
    from server.fidelity.sources import store_tables, wheel_tables  # noqa: PLC0415 - as above

    if csv_file is not None:
        if len(kinds) > 1:
            raise ServingSimError(f"{len(kinds)} kinds for one file", hint="name the kind in a column kind")
        kind = kinds[0] if kinds else ""
        return csv_tables(csv_file, {"kind": kind, "device": device, "backend": backend}), csv_file.name
    if db is not None:
        found, source = store_tables(db, device, kinds), db.name
    else:
        found = wheel_tables(system or "", stack or "", version, kinds)
        source = f"aiconfigurator-core, {system} {stack} {version}".rstrip()
    return _chosen(found, device, backend), source


def _chosen(tables: list[MeasuredTable], device: str, backend: str) -> list[MeasuredTable]:
    """The tables of the named device and backend."""
    for what, name in (("device", device), ("backend", backend)):
        known = sorted({getattr(table.columns.provenance, what) for table in tables})
        if name and name not in known:
            raise ServingSimError(
                f"no rows of {what} {name!r}", code="E_NOT_FOUND", known=", ".join(known) or "none"
            )
    return [
        table
        for table in tables
        if (not device or table.columns.provenance.device == device)
        and (not backend or table.columns.provenance.backend == backend)
    ]


def _notes(tables: list[MeasuredTable]) -> list[str]:
    unlimited = sorted({table.device.name for table in tables if not table.device.peak_flops})
    return [f"no limits are known of {', '.join(unlimited)}: none is checked"] if unlimited else []
