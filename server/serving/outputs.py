"""The files of a run: report and page, requests, a trace to walk through, and every iteration where it is asked for."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from server.serving_page.tables import IterationLog, write_requests
from server.serving_page.trace import TraceFile
from server.serving_page.write import write_report

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from servingsim.sim.results.report import ServingReport
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import LogPiece, Simulated


class Outputs:
    """Files under way: give `add` to the simulation as its log, then `finish`; a run that fails leaves none.

    Args:
        folder: Where they come.
        deployment: What is simulated.
        log_every: Keep every so-many-th iteration in `iterations.parquet`; 0: none.
    """

    def __init__(self, folder: Path, deployment: Deployment, *, log_every: int = 0) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._trace = TraceFile(folder / "trace.json", deployment)
        self._log = (
            IterationLog(folder / "iterations.parquet", deployment, every=log_every) if log_every else None
        )

    def __enter__(self) -> Self:
        """Begin the files.

        Raises:
            ServingSimError: The folder cannot be written, or a library that writes them is not installed.
        """
        self._stack.enter_context(self._trace)
        if self._log is not None:
            self._stack.enter_context(self._log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, piece: LogPiece) -> None:
        """A piece of the log."""
        self._trace.add(piece)
        if self._log is not None:
            self._log.add(piece)

    def finish(self, report: ServingReport, simulated: Simulated) -> list[Path]:
        """Write what is left; every file."""
        files = write_report(report, self._folder)
        files.append(write_requests(simulated, self._folder))
        self._trace.finish(simulated)
        files.append(self._folder / "trace.json")
        if self._log is not None:
            self._log.finish(simulated)
            files += [self._folder / "iterations.parquet", self._folder / "iterations.json"]
        return files
