"""How far a simulation is, on stderr where somebody looks at it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servingsim.sim.serving.simulate import Progress


@contextmanager
def watching() -> Iterator[Callable[[Progress], None]]:
    """A line that follows the run: requests done, simulated time, iterations; nothing where stderr is no terminal."""
    from rich.console import Console  # noqa: PLC0415 - only where something is shown
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=None, said="")

        def follow(progress: Progress) -> None:
            said = f"{progress.done:,} of {progress.requests:,} requests, {progress.clock_ms / 1e3:,.1f} s, "
            said += f"{progress.iterations:,} iterations"
            bar.update(task, total=progress.requests, completed=progress.done, said=said)

        yield follow
