"""`servingsim demo`: a real model measured, predicted and compared on this machine, then one on H100."""

from __future__ import annotations

from pathlib import Path

import click

from profiling.console import emit, say
from server.console import json_flag, threads_of_both
from server.demo.run import run_demo
from server.demo.view import show


@click.command("demo")
@click.option("--model", default="qwen3-0.6b", show_default=True, help="A bundled model, or a config.json.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo"),
    show_default=True,
    help="Everything that is measured is kept here; a second run reuses it.",
)
@threads_of_both
@json_flag
def demo(model: str, out: Path, threads: int, *, as_json: bool) -> None:
    """Measure, predict and compare a small model on this CPU, then predict Llama-3.1-8B on H100.

    Kernels and the real model (Transformers, random weights) are measured in turn, three rounds; caches are
    checked at unseen shapes; predictions are set beside the measured steps. The report is also written to
    OUT/report.json.
    """
    report = run_demo(model, out, threads, say)
    (out / "report.json").write_text(report.model_dump_json(indent=1), encoding="utf-8")
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


COMMAND = demo
