"""The demonstration from start to end; its body reads as its summary."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING

from profiling.device import LocalDevice, local_devices
from profiling.limits import measure_device
from profiling.progress import watching
from profiling.source import StoreSource
from profiling.store import Store
from server.demo import gpu
from server.demo.checks import check_caches
from server.demo.host import host_overhead
from server.demo.report import CaseResult, DemoReport, HostResult, RoundResult
from server.demo.rounds import ROUNDS, Folder, Forwards, measure_kernels, merge, round_names
from server.demo.subject import CASES, STACK, Subject, batch_of, jobs_for
from servingsim.sim.predict import predict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profiling.forward_case import ForwardCase
    from profiling.report import MeasureReport, OnProgress
    from servingsim.sim.report import PredictReport
    from servingsim.timing.source import HostOverhead


@dataclass(frozen=True)
class Bench:
    """Where the demonstration works.

    Attributes:
        folder: What is kept, and where.
        device: The CPU, with its pinned threads.
        say: Tells a person what happens next.
    """

    folder: Folder
    device: LocalDevice
    say: Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """What measuring has brought."""

    kernels: list[MeasureReport]
    forwards: Forwards
    host: HostOverhead
    seconds: float


def run_demo(model: str, path: Path, threads: int, say: Callable[[str], None]) -> DemoReport:
    """Measure, check, predict and compare, keeping everything under `path`.

    Raises:
        ServingSimError: The model cannot be built or predicted, or the machine cannot measure.
    """
    begin_s = time.monotonic()
    device = next(each for each in local_devices(threads) if each.type == "cpu")
    subject = Subject.read(model, device.name)
    path.mkdir(parents=True, exist_ok=True)
    bench = Bench(Folder(path), device, say)
    with watching() as on_progress:
        measured = _measure(subject, bench, on_progress)
        say("caches at shapes between their points")
        checks = check_caches(subject, bench.folder, device, on_progress)
    say("the same steps predicted")
    cases = [_case(subject, bench.folder, measured.forwards, case) for case in CASES]
    say(f"{gpu.MODEL} on {gpu.DEVICE}, from imported rows")
    gpu_source = gpu.import_rows(bench.folder.store("h100"))
    return DemoReport(
        model=subject.name,
        device=device.name,
        measured_at=measured.host.provenance.measured_at,
        rows_measured=sum(report.measured for report in measured.kernels),
        rows_reused=sum(report.skipped for report in measured.kernels),
        outliers=sum(report.outliers for report in measured.kernels),
        seconds_measuring=measured.seconds,
        libraries=_libraries(),
        host=_host(measured.host),
        checks=checks,
        cases=cases,
        gpu_model=gpu.MODEL,
        gpu_source=gpu_source,
        gpu=gpu.predictions(bench.folder.store("h100")),
        seconds=time.monotonic() - begin_s,
    )


def _measure(subject: Subject, bench: Bench, on_progress: OnProgress) -> Measured:
    """Device limits, the host's part, then rounds of kernels and forwards, merged."""
    begin_s, folder, threads = time.monotonic(), bench.folder, bench.device.threads
    jobs = jobs_for(subject.facts, subject.options, CASES)
    shapes = sum(len(job.specs) for job in jobs)
    bench.say(f"{subject.name} on {bench.device.name}: {shapes} kernel shapes, {ROUNDS} rounds")
    _device_limits(folder, bench.device)
    host = host_overhead(subject, folder, bench.device, on_progress)
    reports = []
    key = " ".join([subject.name, bench.device.name, *_libraries().values()])
    with Forwards(subject, folder, threads, key) as forwards:
        for index, name in enumerate(round_names()):
            bench.say(f"round {index + 1} of {ROUNDS}: kernels, then the real model")
            reports.append(measure_kernels(folder.store(name), jobs, bench.device, on_progress))
            forwards.measure(index)
    merge(folder, round_names(), "cpu")
    for name in [*round_names(), "cpu"]:
        with Store.open(folder.store(name)) as store:
            store.put_host(STACK, host)
    return Measured(reports, forwards, host, time.monotonic() - begin_s)


def _device_limits(folder: Folder, device: LocalDevice) -> None:
    """Measured once, known to every store."""
    with Store.open(folder.store("host"), create=True) as store:
        limits = measure_device(store, device)
    for name in round_names():
        with Store.open(folder.store(name), create=True) as store:
            if all(known.name != device.name for known in store.devices()):
                store.put_device(limits)


def _case(subject: Subject, folder: Folder, forwards: Forwards, case: ForwardCase) -> CaseResult:
    rounds = []
    for index, name in enumerate(round_names()):
        timing = forwards.of(case, index)
        predicted_ms = _predicted(subject, folder, name, case).iteration_ms
        rounds.append(
            RoundResult(
                predicted_ms=predicted_ms,
                measured_ms=timing.median_ms,
                measured_cv=timing.cv,
                disturbed=timing.outlier_reason,
                error=predicted_ms / timing.median_ms - 1,
            )
        )
    report = _predicted(subject, folder, "cpu", case)
    passes_ms = [each.measured_ms for each in rounds if not each.disturbed] or [
        each.measured_ms for each in rounds
    ]
    measured_ms = median(passes_ms)
    return CaseResult(
        label=case.label,
        rounds=rounds,
        predicted_ms=report.iteration_ms,
        measured_ms=measured_ms,
        measured_spread=(max(passes_ms) - min(passes_ms)) / measured_ms,
        error=report.iteration_ms / measured_ms - 1,
        worst_error=max((each.error for each in rounds), key=abs),
        host_ms=report.host_ms or 0.0,
        coverage=report.coverage,
    )


def _predicted(subject: Subject, folder: Folder, name: str, case: ForwardCase) -> PredictReport:
    with Store.open(folder.store(name), read_only=True) as store:
        return predict(subject.facts, batch_of(case), StoreSource(store), subject.options)


def _host(host: HostOverhead) -> HostResult:
    return HostResult(
        per_iteration_ms=host.per_iteration_ms, per_layer_ms=host.per_layer_ms, how=host.provenance.source
    )


def _libraries() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers")}
