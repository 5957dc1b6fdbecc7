"""Rows to and from the columns of the store: where a row is checked before it may enter a table."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import ValidationError

from profiling.device_row import DeviceRow
from profiling.registry import kinds, unknown
from profiling.row import MeasuredRow, Origins, Timing
from servingsim.errors import ServingSimError
from servingsim.timing.source import HostOverhead, KernelRows, Origin, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from profiling.contract import KernelKind

Values = tuple[Any, ...]

PROVENANCE_SUMMARY = (
    "min(origin), max(origin), min(framework), max(framework), min(framework_version), "
    "max(framework_version), min(source), max(source), max(measured_at)"
)
"""What `kernel_rows` takes: one pass over the rows, however many there are."""


def encode_rows(rows: Iterable[MeasuredRow]) -> list[tuple[KernelKind, list[Values]]]:
    """Rows as column values, grouped by kind.

    Raises:
        ServingSimError: E_NOT_FOUND for an unknown kind, E_INPUT for args or a timing that are not valid.
    """
    known = kinds()
    fields = {name: kind.fields for name, kind in known.items()}
    grouped: dict[str, list[Values]] = {}
    provenance: tuple[Origins | None, Values] = (None, ())
    for row in rows:
        if row.kind not in known:
            raise unknown("kind", row.kind, known, hint="python -m profiling list")
        if provenance[0] is not row.origins:  # the rows of a run share one object
            provenance = (row.origins, _provenance(row.origins))
        values = (
            row.origins.device,
            row.origins.backend,
            *_args(known[row.kind], fields[row.kind], row.args),
            *_timing(row),
            *provenance[1],
        )
        grouped.setdefault(row.kind, []).append(values)
    return [(known[name], values) for name, values in grouped.items()]


def decode_row(row: dict[str, Any]) -> dict[str, Any]:
    """A table's row with `libraries` and `outlier` as what they mean."""
    return row | {"libraries": json.loads(row["libraries"]), "outlier": bool(row["outlier"])}


def kernel_rows(
    found: Sequence[Values], swept: Sequence[str], device: str, backend: str, summary: Values
) -> KernelRows:
    """Columns (swept fields, median_ms, cv) as numpy arrays, with one provenance for all of them.

    Args:
        found: One tuple a row: the swept fields in order, then the time and the spread.
        swept: Names of the leading columns.
        device: Device key of the rows.
        backend: Backend of the rows.
        summary: The answer to `PROVENANCE_SUMMARY` over the same rows.
    """
    table = np.array(found, dtype=np.float64).reshape(len(found), len(swept) + 2)
    origin, framework, version, source = (_span(*summary[index : index + 2]) for index in (0, 2, 4, 6))
    return KernelRows(
        args={name: table[:, index].copy() for index, name in enumerate(swept)},
        time_ms=table[:, -2].copy(),
        noise=table[:, -1].copy(),
        provenance=Provenance(
            origin=cast("Origin", origin.split(", ")[0]),
            device=device,
            backend=backend,
            framework=framework,
            version=version,
            source=source,
            measured_at=summary[8],
        ),
    )


def encode_device(device: DeviceRow) -> Values:
    """A device as the columns of its table."""
    sizes = (
        device.memory_bytes_per_s,
        device.link_bytes_per_s,
        device.last_level_cache_bytes,
        device.multiprocessors,
        device.threads,
    )
    texts = (device.driver, _json(device.libraries), device.limits_origin, device.source, device.measured_at)
    return (device.name, device.type, device.memory_bytes, _json(device.peak_flops), *sizes, *texts)


def decode_device(row: Mapping[str, Any]) -> DeviceRow:
    """The device of a table row."""
    decoded = {"peak_flops": json.loads(row["peak_flops"]), "libraries": json.loads(row["libraries"])}
    return DeviceRow(**{**row, **decoded})


def encode_host(stack: str, overhead: HostOverhead) -> Values:
    """A host overhead as the columns of its table."""
    origin = overhead.provenance
    times = (overhead.per_iteration_ms, overhead.per_layer_ms)
    for time_ms in times:
        if not (math.isfinite(time_ms) and time_ms >= 0):
            raise ServingSimError(f"host overhead of {time_ms} ms", known="a finite time, at least 0")
    texts = (origin.framework, origin.version, origin.source, origin.measured_at)
    return (origin.device, stack, *times, origin.origin, origin.backend, *texts)


def decode_host(row: Mapping[str, Any]) -> HostOverhead:
    """The host overhead of a table row."""
    names = ("origin", "device", "backend", "framework", "version", "source", "measured_at")
    return HostOverhead(
        row["per_iteration_ms"], row["per_layer_ms"], Provenance(**{name: row[name] for name in names})
    )


def _args(kind: KernelKind, fields: tuple[str, ...], args: Mapping[str, Any]) -> Values:
    try:
        valid = kind.args.model_validate(dict(args)).__dict__
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "args"
        raise ServingSimError(
            f"row of {kind.name} {dict(args)}: {field}: {first['msg']}", known=f"fields {', '.join(fields)}"
        ) from error
    return tuple([valid[name] for name in fields])


def _timing(row: MeasuredRow) -> Values:
    timing = row.timing
    if not (math.isfinite(timing.median_ms) and timing.median_ms > 0) or timing.samples < 1:
        raise ServingSimError(
            f"row of {row.kind} {dict(row.args)}: {timing.median_ms} ms from {timing.samples} samples",
            known="a finite time above 0 from at least one sample",
            hint="leave the row out: a kernel takes time",
        )
    spread = (_known(timing.p10_ms), _known(timing.p90_ms), _known(timing.cv))
    return (timing.median_ms, *spread, timing.samples, int(timing.outlier), timing.outlier_reason)


def decode_timing(row: Mapping[str, Any]) -> Timing:
    """The timing of a table row; NULL becomes NaN again."""
    p10_ms, p90_ms, cv = (math.nan if row[name] is None else row[name] for name in ("p10_ms", "p90_ms", "cv"))
    return Timing(
        row["median_ms"], p10_ms, p90_ms, cv, row["samples"], bool(row["outlier"]), row["outlier_reason"]
    )


def _known(value: float) -> float | None:
    """NULL in a table where Python has NaN."""
    return value if math.isfinite(value) else None


def _provenance(origins: Origins) -> Values:
    if not (origins.device and origins.backend):
        raise ServingSimError(f"rows of {origins.source or 'a run'} without a device or a backend")
    versions = (origins.origin, origins.framework, origins.framework_version, origins.driver)
    return (*versions, _json(origins.libraries), origins.source, origins.measured_at)


def _json(mapping: Mapping[str, Any]) -> str:
    return json.dumps(dict(mapping), sort_keys=True)


def _span(first: str, last: str) -> str:
    """One text for all rows: theirs where they agree, else the first and the last in order."""
    return first if first == last else f"{first}, {last}"
