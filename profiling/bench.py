"""The workers of a run: one at a time, ready for the backend whose turn it is, replaced after every fault."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from profiling.row import Timing
from profiling.worker_process import WorkerError, WorkerProcess

if TYPE_CHECKING:
    from profiling.plan import PlannedJob, RunSettings
    from profiling.protocol import Message
    from profiling.specs import Spec

LOAD_TIMEOUT_S = 180.0
"""For importing what a backend needs."""


class BackendError(WorkerError):
    """A backend that cannot be loaded: none of its shapes can be measured."""


class Bench:
    """Where shapes are timed."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._worker: WorkerProcess | None = None
        self._serves: tuple[str, int] = ("", 0)
        self._libraries: dict[str, dict[str, str]] = {}

    def prepare(self, job: PlannedJob) -> dict[str, str]:
        """Have a worker that has loaded the job's backend; returns the versions of what it imported.

        Raises:
            BackendError: With the reason why it cannot be loaded.
        """
        serves = (job.backend.name, job.device.threads)
        if self._serves != serves:
            self.close()
        self._serves = serves
        if self._worker is None:
            self._worker = WorkerProcess(job.device.threads, python=self._settings.python or sys.executable)
        if job.kind.name not in self._libraries:
            try:
                answer = self.ask(
                    {"op": "load", **_names(job), "setting": asdict(job.device.setting())}, LOAD_TIMEOUT_S
                )
            except WorkerError as fault:
                raise BackendError(f"backend {job.backend.name!r} cannot be loaded: {fault}") from fault
            self._libraries[job.kind.name] = answer["libraries"]
        return self._libraries[job.kind.name]

    def time(self, job: PlannedJob, spec: Spec) -> Timing:
        """Time one shape.

        Raises:
            WorkerError: With the reason; the next shape finds a fresh worker.
        """
        self.prepare(job)
        settings = self._settings
        request = {
            "op": "measure",
            **_names(job),
            "args": spec,
            "setting": asdict(job.device.setting()),
            "budget_s": settings.budget_s,
            "min_samples": settings.min_samples,
        }
        answer = self.ask(request, settings.timeout_s)
        if settings.isolate:
            self.close()
        return Timing(**answer["timing"])

    def ask(self, request: Message, timeout_s: float) -> Message:
        """Ask the present worker; one that failed in a way that may spoil the next measurement is ended."""
        if self._worker is None:
            raise WorkerError("no worker is running")
        try:
            answer = self._worker.ask(request, timeout_s)
        except WorkerError:
            self.close()
            raise
        if not answer["ok"]:
            if not answer["usable"]:
                self.close()
            raise WorkerError(answer["reason"])
        return answer

    def close(self) -> None:
        """End the present worker."""
        worker, self._worker = self._worker, None
        self._libraries.clear()
        if worker is not None:
            worker.close()


def _names(job: PlannedJob) -> dict[str, str]:
    return {"kind": job.kind.name, "backend": job.backend.name}
