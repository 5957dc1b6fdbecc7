"""Kernels and forward passes in turn, three times over, so that a drifting machine moves both alike.

Every round has a store of its own, and the rounds together make the one that the predictions rest on. All
of it is kept: a second run finds everything there.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Self, cast

from profiling.forward import Forward
from profiling.measure import measure_many
from profiling.plan import RunSettings
from profiling.registry import kinds
from profiling.report import silent
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from server.demo.subject import CASES
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from profiling.device import LocalDevice
    from profiling.forward_case import ForwardCase
    from profiling.forward_model import TorchDtype
    from profiling.plan import Job
    from profiling.report import MeasureReport, OnProgress
    from server.demo.subject import Subject

ROUNDS = 3
BUDGET_S = 0.06
MIN_SAMPLES = 8
LONG_STEP_TOKENS = 256
SAMPLES, LONG_SAMPLES = 7, 3
"""Of a step, and of one that takes seconds."""


@dataclass(frozen=True)
class Folder:
    """Where the demonstration keeps what it measures."""

    path: Path

    def store(self, name: str) -> Path:
        """One store."""
        return self.path / f"{name}.db"

    @property
    def forwards(self) -> Path:
        """The forward passes."""
        return self.path / "forward.json"


def round_names() -> list[str]:
    """Their stores' names."""
    return [f"round-{index}" for index in range(ROUNDS)]


def settings(threads: int) -> RunSettings:
    """How one round measures a shape."""
    return RunSettings(threads=threads, budget_s=BUDGET_S, min_samples=MIN_SAMPLES, device_type="cpu")


def measure_kernels(
    path: Path, jobs: Sequence[Job], device: LocalDevice, on_progress: OnProgress
) -> MeasureReport:
    """One round's kernels into its store; what was disturbed gets a second chance at once."""
    with Store.open(path, create=True) as store:
        first = measure_many(store, jobs, settings=settings(device.threads), on_progress=on_progress)
        if not first.measured or not first.outliers:
            return first
        again = replace(settings(device.threads), retry_outliers=True)
        second = measure_many(store, jobs, settings=again, on_progress=silent)
        return first.model_copy(update={"outliers": second.outliers})


class Forwards:
    """The real model's steps: read where an earlier run has left them, else measured and written down.

    Args:
        subject: The model.
        folder: Where they are kept.
        threads: CPU threads.
        key: Model, device and versions; steps of another key are measured anew.
    """

    def __init__(self, subject: Subject, folder: Folder, threads: int, key: str) -> None:
        self._subject = subject
        self._folder = folder
        self._threads = threads
        self._key = key
        self._forward: Forward | None = None
        self._kept = _read(folder, key)

    def of(self, case: ForwardCase, round_index: int) -> Timing:
        """One case of one round."""
        return self._kept[_name(case, round_index)]

    def measure(self, round_index: int) -> None:
        """All cases of one round. The model is built for the first that is missing, and stays."""
        for case in CASES:
            if _name(case, round_index) in self._kept:
                continue
            self._forward = self._forward or start(self._subject, self._threads)
            samples = LONG_SAMPLES if case.q_len > LONG_STEP_TOKENS else SAMPLES
            self._kept[_name(case, round_index)] = self._forward.measure(case, samples)
            _write(self._folder, self._key, self._kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._forward is not None:
            self._forward.close()


def start(subject: Subject, threads: int) -> Forward:
    """The real model in its own process."""
    return Forward(subject.config, threads, cast("TorchDtype", subject.facts.dtype))


def merge(folder: Folder, names: Sequence[str], into: str) -> None:
    """The rows of several rounds as one store: medians of medians, spread over rounds beside those within."""
    with Store.open(folder.store(into), create=True) as merged:
        parts = [Store.open(folder.store(name), read_only=True) for name in names]
        for device in parts[0].devices():
            merged.put_device(device)
        for kind, known in kinds().items():
            found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for part in parts:
                for row in part.rows(kind):
                    key = (row["device"], row["backend"], *(row[name] for name in known.fields))
                    found.setdefault(key, []).append(row)
            merged.upsert(_merged(kind, known.fields, rows) for rows in found.values())
        for part in parts:
            part.close()


def _merged(kind: str, fields: Sequence[str], rows: list[dict[str, Any]]) -> MeasuredRow:
    """One row out of a shape's rounds; those that were disturbed count only where all were."""
    good = [row for row in rows if not row["outlier"]] or rows
    medians = [row["median_ms"] for row in good]
    first = good[0]
    timing = Timing(
        median_ms=median(medians),
        p10_ms=min(row["p10_ms"] for row in good),
        p90_ms=max(row["p90_ms"] for row in good),
        cv=max([(max(medians) - min(medians)) / 2 / median(medians), *(row["cv"] for row in good)]),
        samples=sum(row["samples"] for row in good),
        outlier=bool(first["outlier"]),
        outlier_reason=first["outlier_reason"],
    )
    names = ("origin", "device", "backend", "framework", "framework_version", "driver", "libraries", "source")
    origins = Origins(**{name: first[name] for name in names}, measured_at=good[-1]["measured_at"])
    return MeasuredRow(kind, {name: first[name] for name in fields}, timing, origins)


def _read(folder: Folder, key: str) -> dict[str, Timing]:
    """The steps of a key by case and round."""
    if not folder.forwards.exists():
        return {}
    try:
        kept = json.loads(folder.forwards.read_text(encoding="utf-8"))
        return {name: Timing(**timing) for name, timing in kept.get(key, {}).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ServingSimError(
            f"is not a file of forward passes: {error}",
            code="E_STATE",
            path=str(folder.forwards),
            hint="delete it; the passes are measured again",
        ) from error


def _name(case: ForwardCase, round_index: int) -> str:
    return f"{case.label}, round {round_index}"


def _write(folder: Folder, key: str, kept: dict[str, Timing]) -> None:
    """All or nothing: a kill while writing leaves the file before."""
    draft = folder.forwards.with_suffix(".tmp")
    passes = {name: asdict(timing) for name, timing in kept.items()}
    draft.write_text(json.dumps({key: passes}, indent=1), encoding="utf-8")
    draft.replace(folder.forwards)
