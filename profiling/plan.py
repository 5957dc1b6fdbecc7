"""What a run has to do, checked before anything is measured or written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiling.device import LocalDevice, device_for, local_devices
from profiling.registry import backend_named, kind_named
from profiling.specs import Spec, shown, validate
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling.contract import Backend, DeviceType, KernelKind
    from servingsim.timing.source import ArgValue


@dataclass(frozen=True)
class Job:
    """Shapes of one kind for one backend."""

    kind: str
    backend: str
    specs: Sequence[Mapping[str, ArgValue]]


@dataclass(frozen=True)
class RunSettings:
    """How to measure.

    Attributes:
        threads: Threads for CPU kernels; None takes every core that this process may use.
        budget_s: Time for the samples of one shape.
        min_samples: Samples of one shape at least, whatever the budget.
        timeout_s: Time for one shape in all, preparation included; a shape that takes longer fails.
        force: Measure rows that are there already again.
        retry_outliers: Measure those of them again whose samples could not be trusted.
        isolate: A fresh worker process for every shape.
        device_type: Where backends run that run on both; None takes a GPU where there is one.
        python: Interpreter of the workers, for a library that has an environment of its own; empty: this one.
    """

    threads: int | None = None
    budget_s: float = 0.5
    min_samples: int = 8
    timeout_s: float = 120.0
    force: bool = False
    retry_outliers: bool = False
    isolate: bool = False
    device_type: DeviceType | None = None
    python: str = ""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("budget_s", 0.001, 3600),
            ("min_samples", 3, 10**6),
            ("timeout_s", 0.1, 86400),
        ):
            value = getattr(self, name)
            if not low <= value <= high:  # NaN fails every comparison
                raise ServingSimError(
                    f"{name} {value}", known=f"{low} to {high}", hint=f"choose another {name}"
                )


@dataclass(frozen=True)
class PlannedJob:
    """A job whose names, args and device are known to be good.

    Attributes:
        shapes: Valid args in order, without doubles.
        refused: Why a shape cannot be measured, by its place in `shapes`.
    """

    kind: KernelKind
    backend: Backend
    device: LocalDevice
    shapes: tuple[Spec, ...]
    refused: Mapping[int, str] = field(default_factory=dict)


def plan(jobs: Sequence[Job], settings: RunSettings) -> list[PlannedJob]:
    """Resolve and check jobs.

    Raises:
        ServingSimError: For an unknown kind, backend or field, invalid args, a dtype that the backend does
        not run,
            or a backend that cannot run here.
    """
    devices = local_devices(settings.threads)
    return [_planned(job, devices, settings.device_type, settings.python) for job in jobs]


def refuse_impossible(planned: Sequence[PlannedJob]) -> None:
    """For calls that name their shapes: one that cannot be measured refuses the call.

    Raises:
        ServingSimError: E_LIMIT, with the first such shape and its reason.
    """
    for job in planned:
        for index, reason in job.refused.items():
            raise ServingSimError(
                f"{job.kind.name} {shown_args(job.shapes[index])}: {reason}",
                code="E_LIMIT",
                hint="leave the shape out or make it smaller; nothing was measured",
            )


def shown_args(args: Mapping[str, ArgValue]) -> str:
    """Args on one line."""
    return " ".join(f"{name}={value}" for name, value in args.items())


def _planned(job: Job, devices: Sequence[LocalDevice], wanted: DeviceType | None, python: str) -> PlannedJob:
    kind, backend = kind_named(job.kind), backend_named(job.kind, job.backend)
    shapes = {
        tuple(spec.values()): spec
        for spec in (validate(kind, spec, where=f"spec {index}") for index, spec in enumerate(job.specs))
    }
    for spec in shapes.values():
        _check_dtypes(kind, backend, spec)
    device = device_for(backend, devices, wanted, python)
    reasons = [_impossible(kind, backend, device, spec) for spec in shapes.values()]
    refused = {index: reason for index, reason in enumerate(reasons) if reason}
    return PlannedJob(kind, backend, device, tuple(shapes.values()), refused)


def _check_dtypes(kind: KernelKind, backend: Backend, spec: Spec) -> None:
    accepted = {"compute": backend.compute_dtypes, "kv": backend.kv_dtypes}
    for role, name in kind.dtype_fields.items():
        if spec[name] not in accepted[role]:
            raise ServingSimError(
                f"{name} {shown(spec[name])} is not run by backend {backend.name!r} of {kind.name}",
                known=", ".join(accepted[role]) or "none",
                hint="choose another dtype or backend: python -m profiling list",
            )


def _impossible(kind: KernelKind, backend: Backend, device: LocalDevice, spec: Spec) -> str:
    operand_bytes = float(kind.work(**spec).bytes_moved)
    if operand_bytes > device.memory_bytes:
        there = f"{device.memory_bytes / 2**30:.1f} GiB of {device.name}"
        return f"operands of {operand_bytes / 2**30:.1f} GiB are more than the {there}"
    return backend.supports(**spec)
