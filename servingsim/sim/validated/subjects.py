"""The parts of a priced iteration and of a served workload, as subjects of validated errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.validated.match import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.ops.pricing import SlotLog
    from servingsim.timing.engine import Kernel


def of_slot(log: SlotLog) -> Iterator[tuple[Subject, float]]:
    """A slot by whose rows priced it, each with its time in one run of the slot."""
    each_ms = log.points.weights * log.answer.time_ms
    for index in sorted({int(pick) for pick in log.answer.backend}):
        yield of_kernel(log.kernel, index), float(each_ms[log.answer.backend == index].sum())


def of_kernel(kernel: Kernel, index: int) -> Subject:
    """A kernel read from its table of that index; below 0 for an estimate."""
    dtype = str(getattr(kernel.config, "dtype", ""))
    if index < 0:
        return Subject(kernel.kind.kind, kernel.config.gpu_name, ("estimate",), dtype=dtype)
    table = kernel.tables[index]
    whose = table.provenance
    names = tuple(filter(None, (whose.framework, table.backend)))
    return Subject(kernel.kind.kind, whose.device, names, whose.version, dtype=dtype)
