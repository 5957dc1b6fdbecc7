"""Caches against measurements at shapes between the points they were fitted on."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.plan import Job
from profiling.source import StoreSource
from profiling.store import Store
from server.demo.report import CacheCheck
from server.demo.rounds import ROUNDS, measure_kernels, merge
from server.demo.subject import CASES, batch_of
from servingsim.sim.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.device import LocalDevice
    from profiling.report import OnProgress
    from server.demo.rounds import Folder
    from server.demo.subject import Subject
    from servingsim.timing.engine import Kernel

PROBES_A_KERNEL = 2
SEED = 20
BAR = 0.15
Probe = tuple["Kernel", tuple[int, ...], dict[str, Any]]


def check_caches(
    subject: Subject, folder: Folder, device: LocalDevice, on_progress: OnProgress
) -> list[CacheCheck]:
    """Measure the probes into stores that no prediction reads, as often as the rows, and compare."""
    with Store.open(folder.store("cpu"), read_only=True) as store:
        probes = list(_probes(_kernels(subject, StoreSource(store))))
        names = [f"probes-{index}" for index in range(ROUNDS)]
        for name in names:
            with Store.open(folder.store(name), create=True) as scratch:
                for known in store.devices():
                    scratch.put_device(known)
            measure_kernels(folder.store(name), _jobs(probes), device, on_progress)
        merge(folder, names, "probes")
        with Store.open(folder.store("probes"), read_only=True) as scratch:
            pairs = [
                (kernel, coords, float(kernel.eval(np.array([coords], dtype=float)).time_ms[0]), truth)
                for kernel, coords, spec in probes
                if (truth := _truth(scratch, kernel, spec)) is not None
            ]
    kinds = sorted({kernel.kind.kind for kernel, *_ in pairs})
    return [_summary(kind, [pair for pair in pairs if pair[0].kind.kind == kind]) for kind in kinds]


def _kernels(subject: Subject, source: StoreSource) -> list[Kernel]:
    """Every distinct kernel of the model."""
    logs = [
        log for case in CASES for log in evaluate(subject.facts, batch_of(case), source, subject.options).logs
    ]
    distinct = {
        (log.kernel.kind.kind, tuple(log.kernel.kind.fixed(log.kernel.config).items())): log for log in logs
    }
    return [log.kernel for log in distinct.values()]


def _probes(kernels: list[Kernel]) -> Iterator[Probe]:
    """Points inside the cells of each kernel's grid, a few drawn from all, the same in every run."""
    draw = np.random.default_rng(SEED)
    for kernel in kernels:
        axes = [_between(values) for values in kernel.kind.sweep_grid(kernel.config)]
        inside = [point for point in itertools.product(*axes) if kernel.kind.feasible(kernel.config, point)]
        if not inside:
            continue
        chosen = draw.choice(len(inside), size=min(PROBES_A_KERNEL, len(inside)), replace=False)
        for index in sorted(chosen):
            spec = kernel.kind.payload(kernel.config, inside[index])
            yield kernel, inside[index], dict(spec)


def _between(values: tuple[int, ...]) -> list[int]:
    """Geometric middles of neighbouring values, whole and off the grid."""
    if len(values) == 1:
        return list(values)
    middles = [round(math.sqrt(max(low, 1) * high)) for low, high in itertools.pairwise(values)]
    return [middle for middle in middles if middle not in values] or [values[0]]


def _jobs(probes: list[Probe]) -> list[Job]:
    by_backend: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for kernel, _, spec in probes:
        by_backend.setdefault((kernel.kind.table, kernel.tables[0].backend), []).append(spec)
    return [Job(kind, backend, specs) for (kind, backend), specs in by_backend.items()]


def _truth(scratch: Store, kernel: Kernel, spec: dict[str, Any]) -> float | None:
    rows = scratch.rows(kernel.kind.table, backend=kernel.tables[0].backend, args=spec)
    return float(rows[0]["median_ms"]) if rows else None


def _summary(kind: str, pairs: list[tuple[Kernel, tuple[int, ...], float, float]]) -> CacheCheck:
    ratios = np.array([cached / truth for _, _, cached, truth in pairs])
    worst = int(np.argmax(np.abs(np.log(ratios))))
    kernel, coords, _, _ = pairs[worst]
    shape = kernel.kind.payload(kernel.config, coords)
    return CacheCheck(
        kind=kind,
        probes=len(pairs),
        median_ratio=float(np.median(ratios)),
        within_15_percent=float(np.mean(np.abs(np.log(ratios)) <= math.log(1 + BAR))),
        worst_ratio=float(ratios[worst]),
        worst_shape=" ".join(f"{name}={value}" for name, value in shape.items()),
    )
