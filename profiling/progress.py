"""Progress for people, on stderr: a bar on a terminal, else one plain line a shape."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from profiling.console import say
from profiling.plan import shown_args

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.report import OnProgress, Progress


REFRESH_PER_S = 2
"""Drawing takes a core for a moment, and a kernel may be using them all."""


@contextlib.contextmanager
def watching() -> Iterator[OnProgress]:
    """A callback for `measure` that shows what it is told, until the block ends."""
    if not sys.stderr.isatty():
        yield _print_line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=REFRESH_PER_S) as bar:
        task = bar.add_task("measuring", total=None)

        def show(progress: Progress) -> None:
            if progress.outcome == "failed":
                bar.console.print(line(progress), markup=False, highlight=False)
            bar.update(
                task,
                description=escape(f"{progress.kind} {progress.backend} {shown_args(progress.args)}"),
                completed=progress.done,
                total=progress.total,
            )

        yield show


def line(progress: Progress) -> str:
    """One shape on one line."""
    result = progress.reason.replace("\n", " ") or progress.outcome
    if progress.timing is not None:
        result = f"{progress.timing.median_ms:.6g} ms" + (
            f" (outlier: {progress.timing.outlier_reason})" if progress.timing.outlier else ""
        )
    where = f"[{progress.done}/{progress.total}] {progress.kind} {progress.backend}"
    return (
        f"{where} {shown_args(progress.args)}: {'failed: ' if progress.outcome == 'failed' else ''}{result}"
    )


def _print_line(progress: Progress) -> None:
    """A line a shape, but none for those that are there already: a second run is silent."""
    if progress.outcome != "skipped":
        say(line(progress))
