"""Measuring: plan the shapes, have a worker time each, store every row at once.

A crash, a timeout or a want of memory costs the shape it happened in; the next one gets a fresh worker. Rows
that are there already are skipped, so a run that was broken off goes on where it stopped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profiling.bench import BackendError, Bench
from profiling.limits import ensure_device, raise_limits
from profiling.plan import Job, PlannedJob, RunSettings, plan
from profiling.report import (
    FailedShape,
    MeasureInterrupted,
    MeasureReport,
    OnProgress,
    Outcome,
    Progress,
    silent,
)
from profiling.row import MeasuredRow, Origins, Timing
from profiling.worker_process import WorkerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling.specs import Spec
    from profiling.store import Store
    from servingsim.timing.source import ArgValue


def measure(
    store: Store,
    kind: str,
    backend: str,
    specs: Sequence[Mapping[str, ArgValue]],
    *,
    settings: RunSettings | None = None,
    on_progress: OnProgress = silent,
) -> MeasureReport:
    """Measure shapes of one kind with one backend; see `measure_many`."""
    return measure_many(store, [Job(kind, backend, specs)], settings=settings, on_progress=on_progress)


def measure_many(
    store: Store,
    jobs: Sequence[Job],
    *,
    settings: RunSettings | None = None,
    on_progress: OnProgress = silent,
) -> MeasureReport:
    """Measure every shape of the jobs that the store does not have.

    Args:
        store: Opened with `create=True` for a file that may not exist yet.
        jobs: Shapes by kind and backend.
        settings: How to measure.
        on_progress: Called after each shape, in this thread; an exception from it ends the run, rows are
        kept.

    Raises:
        ServingSimError: For jobs that are not valid, before anything is measured or written.
        MeasureInterrupted: On Ctrl-C, with the report so far.
    """
    settings = settings or RunSettings()
    return run_planned(store, plan(jobs, settings), settings=settings, on_progress=on_progress)


def run_planned(
    store: Store, planned: Sequence[PlannedJob], *, settings: RunSettings, on_progress: OnProgress = silent
) -> MeasureReport:
    """Measure jobs that are planned already; as `measure_many`."""
    store.ensure_created()
    run = _Run(store, settings, on_progress, Bench(settings), sum(len(job.shapes) for job in planned))
    try:
        for job in planned:
            run.job(job)
    except KeyboardInterrupt as interrupt:
        raise MeasureInterrupted(run.report(planned, interrupted=True)) from interrupt
    finally:
        run.bench.close()
    return run.report(planned, interrupted=False)


@dataclass
class _Run:
    """The state of one run: its worker and its counts."""

    store: Store
    settings: RunSettings
    on_progress: OnProgress
    bench: Bench
    total: int
    counts: dict[Outcome, int] = field(default_factory=lambda: {"measured": 0, "skipped": 0, "failed": 0})
    outliers: int = 0
    failed: list[FailedShape] = field(default_factory=list)
    begin_s: float = field(default_factory=time.monotonic)

    def job(self, job: PlannedJob) -> None:
        """Measure what is missing of one job."""
        there = self.store.existing(
            job.kind.name, job.device.name, job.backend.name, trusted_only=self.settings.retry_outliers
        )
        missing: list[Spec] = []
        for index, spec in enumerate(job.shapes):
            if tuple(spec.values()) in there and not self.settings.force:
                self._done(job, spec, "skipped")
            elif index in job.refused:
                self._done(job, spec, "failed", reason=job.refused[index])
            else:
                missing.append(spec)
        if missing:
            try:
                self._measure(job, missing)
            finally:
                raise_limits(self.store, job.device.name, job.kind, self._rows(job))

    def report(self, planned: Sequence[PlannedJob], *, interrupted: bool) -> MeasureReport:
        """The summary of everything done so far."""
        return MeasureReport(
            db=str(self.store.path),
            devices=sorted({job.device.name for job in planned}),
            measured=self.counts["measured"],
            skipped=self.counts["skipped"],
            outliers=self.outliers,
            failed=self.failed,
            rows=[row for job in planned for row in self._rows(job)],
            interrupted=interrupted,
            elapsed_s=self._elapsed_s(),
        )

    def _measure(self, job: PlannedJob, missing: Sequence[Spec]) -> None:
        broken = ""
        origins: Origins | None = None
        for spec in missing:
            if broken:
                self._done(job, spec, "failed", reason=broken)
                continue
            try:
                origins = origins or self._origins(job)
                self._keep(job, spec, self.bench.time(job, spec), origins)
            except BackendError as fault:
                broken = str(fault)
                self._done(job, spec, "failed", reason=broken)
            except WorkerError as fault:
                self._done(job, spec, "failed", reason=str(fault))

    def _origins(self, job: PlannedJob) -> Origins:
        """Provenance of the job's rows, once its worker runs and its device is known to the store."""
        libraries = self.bench.prepare(job)
        with_torch = "torch" in job.backend.requires
        try:
            ensure_device(self.store, job.device, self.bench.ask, with_torch=with_torch)
        except WorkerError as fault:
            raise BackendError(f"the limits of {job.device.name} cannot be measured: {fault}") from fault
        framework = (
            job.backend.name if job.backend.name in libraries else next(iter(libraries), job.backend.name)
        )
        return Origins(
            origin="measured",
            device=job.device.name,
            backend=job.backend.name,
            framework=framework,
            framework_version=libraries.get(framework, ""),
            driver=job.device.driver,
            libraries=libraries,
            source=f"profiling run, budget {self.settings.budget_s:g} s a shape",
        )

    def _keep(self, job: PlannedJob, spec: Spec, timing: Timing, origins: Origins) -> None:
        stamped = replace(origins, measured_at=datetime.now(UTC).isoformat(timespec="seconds"))
        self.store.upsert([MeasuredRow(job.kind.name, spec, timing, stamped)])
        self.outliers += timing.outlier
        self._done(job, spec, "measured", timing=timing)

    def _done(
        self, job: PlannedJob, spec: Spec, outcome: Outcome, *, reason: str = "", timing: Timing | None = None
    ) -> None:
        self.counts[outcome] += 1
        names = (job.kind.name, job.backend.name)
        if outcome == "failed":
            self.failed.append(FailedShape(kind=names[0], backend=names[1], args=spec, reason=reason))
        done = sum(self.counts.values())
        self.on_progress(Progress(done, self.total, *names, spec, outcome, reason, timing, self._elapsed_s()))

    def _rows(self, job: PlannedJob) -> list[dict[str, Any]]:
        """The stored rows of a job's shapes, in their order."""
        rows = self.store.rows(job.kind.name, device=job.device.name, backend=job.backend.name)
        by_args = {tuple(row[name] for name in job.kind.fields): row for row in rows}
        keys = (tuple(spec.values()) for spec in job.shapes)
        return [by_args[key] for key in keys if key in by_args]

    def _elapsed_s(self) -> float:
        return round(time.monotonic() - self.begin_s, 3)
