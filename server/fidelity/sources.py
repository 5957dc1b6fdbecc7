"""Measured rows for a fidelity report: of the data wheel or of a store, as columns."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.source import StoreSource
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.fidelity.columns import KernelColumns
from servingsim.timing.fidelity.run import MeasuredTable
from servingsim.timing.registry import kernels
from servingsim.timing.source import DeviceSpec, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def wheel_tables(system: str, stack: str, version: str, kinds: Sequence[str]) -> list[MeasuredTable]:
    """Tables of the package of measured GPU data, read as the importer reads them.

    Raises:
        ServingSimError: The package is not installed, or has no such system, stack, version or kind.
    """
    from profiling.importers.aiconfigurator.plan import Choice  # noqa: PLC0415 - numpy tables only when asked
    from profiling.importers.aiconfigurator.reading import read_tables  # noqa: PLC0415 - as above
    from profiling.importers.aiconfigurator.table import tables  # noqa: PLC0415 - as above

    known = tables()
    wanted = tuple(name for name, table in known.items() if table.kind in kinds)
    _refuse_unknown(kinds, {table.kind for table in known.values()})
    choice = Choice(system=system, stack=stack, version=version, table=wanted)
    return [
        MeasuredTable(
            KernelColumns(part.kind, part.args, part.time_ms, part.noise, part.trusted, part.provenance),
            part.device.spec() if part.device else without_limits(part.provenance.device),
        )
        for part in read_tables(choice)
    ]


def store_tables(path: Path, device: str, kinds: Sequence[str]) -> list[MeasuredTable]:
    """Rows of a store, by kind, device and backend.

    Args:
        path: The store, which is only read.
        device: Its rows; empty: every device's.
        kinds: Empty: every kind's.

    Raises:
        ServingSimError: No such store, device or kind in it.
    """
    with Store.open(path, read_only=True) as store:
        counts = store.counts()
        _refuse_unknown(kinds, {count.kind for count in counts})
        if device and device not in {count.device for count in counts}:
            raise ServingSimError(
                f"no rows of device {device!r}",
                code="E_NOT_FOUND",
                known=", ".join(sorted({count.device for count in counts})) or "no row at all",
                path=str(path),
            )
        source = StoreSource(store)
        priced = {kind.table for kind in kernels().values()}
        return [
            MeasuredTable(
                columns_of(count.kind, store.rows(count.kind, device=count.device, backend=count.backend)),
                device_of(source, count.device),
            )
            for count in counts
            if count.kind in priced
            and (not device or count.device == device)
            and (not kinds or count.kind in kinds)
        ]


def columns_of(kind: str, rows: Sequence[dict[str, Any]]) -> KernelColumns:
    """Rows of one kind, device and backend, as a store or a file gives them, as columns.

    Args:
        kind: The profiler's kind.
        rows: With its args fields, median_ms, cv, outlier, device, backend and source.
    """
    fields = next(each.args for each in kernels().values() if each.table == kind)
    columns: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name in (*fields, "median_ms", "cv", "outlier"):
            columns[name].append(row[name])
    first = rows[0]
    noise = [np.nan if value is None else value for value in columns["cv"]]
    return KernelColumns(
        kind=kind,
        args={name: np.array(columns[name]) for name in fields},
        time_ms=np.array(columns["median_ms"], dtype=np.float64),
        noise=np.array(noise, dtype=np.float64),
        trusted=~np.array(columns["outlier"], dtype=bool),
        provenance=Provenance(
            "measured", first["device"], first["backend"], source=str(first.get("source", ""))
        ),
    )


def device_of(source: StoreSource, name: str) -> DeviceSpec:
    """The device with its limits, or without any where nobody knows them: then no limit is checked."""
    try:
        return source.device(name)
    except ServingSimError:
        return without_limits(name)


def without_limits(name: str) -> DeviceSpec:
    """A device of which only the name is known."""
    return DeviceSpec(name, {}, 0.0, 0, limits_origin="unknown")


def _refuse_unknown(kinds: Sequence[str], known: set[str]) -> None:
    unknown = sorted(set(kinds) - known)
    if unknown:
        raise ServingSimError(
            f"no rows of kind {', '.join(map(repr, unknown))}",
            code="E_NOT_FOUND",
            known=", ".join(sorted(known)) or "no row at all",
            hint="name one of these with --kind, or leave it out for all",
        )
