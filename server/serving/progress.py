"""How far a simulation or a sweep is, on stderr where somebody looks at it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servingsim.sim.serving.simulate import Progress
    from servingsim.sim.sweep.run import SweepProgress


@contextmanager
def watching_run() -> Iterator[Callable[[Progress], None]]:
    """Follows a run: requests done, simulated time, iterations."""
    with _line("simulating") as follow:

        def told(progress: Progress) -> None:
            said = f"{progress.done:,} of {progress.requests:,} requests, {progress.clock_ms / 1e3:,.1f} s, "
            follow(progress.done, progress.requests, f"{said}{progress.iterations:,} iterations")

        yield told


@contextmanager
def watching_sweep() -> Iterator[Callable[[SweepProgress], None]]:
    """Follows a sweep: points done, and those known from before."""
    with _line("sweeping") as follow:

        def told(progress: SweepProgress) -> None:
            known = f", {progress.known} known from before" if progress.known else ""
            follow(progress.done, progress.total, f"{progress.done} of {progress.total} points{known}")

        yield told


@contextmanager
def _line(doing: str) -> Iterator[Callable[[int, int, str], None]]:
    """A line that takes done, all and a text; nothing where stderr is no terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None, said="")
        yield lambda done, total, said: bar.update(task, total=total, completed=done, said=said)
