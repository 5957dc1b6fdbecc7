"""Taken rows as the store's rows, with their provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.columns import BoolArray, IntArray, Text
from profiling.row import MeasuredRow, Origins, Timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from profiling.importers.aiconfigurator.plan import Plan, SourceFile, TableSource
    from profiling.importers.aiconfigurator.taking import Taken

SEPARATOR = "\n"


def measured_rows(taken: Taken, plan: Plan) -> Iterator[MeasuredRow]:
    """The distinct shapes as rows; those of one origin follow each other and share its object."""
    merged, origin = taken.merged, _origin(taken)
    origins = {name: _origins(name, taken.source, plan) for name in origin.names}
    names = list(taken.args)
    args = [_values(column) for column in taken.args.values()]
    reason = _reasons(taken.outliers, len(merged))
    timings = [
        values.tolist()
        for values in (merged.median_ms, merged.p10_ms, merged.p90_ms, merged.cv, merged.samples)
    ]
    for row in np.argsort(origin.codes, kind="stable").tolist():
        median_ms, p10_ms, p90_ms, cv, samples = (values[row] for values in timings)
        yield MeasuredRow(
            kind=taken.kind.name,
            args=dict(zip(names, (values[row] for values in args), strict=True)),
            timing=Timing(median_ms, p10_ms, p90_ms, cv, samples, bool(reason[row]), reason[row]),
            origins=origins[origin.at(row)],
        )


def _values(column: IntArray | Text) -> list[int] | list[str]:
    return [column.names[code] for code in column.codes] if isinstance(column, Text) else column.tolist()


def _reasons(outliers: Mapping[str, BoolArray], rows: int) -> list[str]:
    reason = [""] * rows
    for name, marked in outliers.items():
        for row in np.flatnonzero(marked).tolist():
            reason[row] = name
    return reason


def _origin(taken: Taken) -> Text:
    """What rows share: device, backend, framework, the version they were measured with, and the file."""
    texts = {
        name: taken.columns.texts[name].take(taken.rows).map(str.strip) for name in ("framework", "version")
    }
    files = Text(taken.columns.file[taken.rows], tuple(map(str, range(len(taken.source.files)))))
    parts = [taken.device, taken.backend, texts["framework"], texts["version"], files]
    return Text.join(parts, lambda *names: SEPARATOR.join(names))


def _origins(name: str, source: TableSource, plan: Plan) -> Origins:
    device, backend, framework, version, file = name.split(SEPARATOR)
    origin = source.files[int(file)]
    return Origins(
        origin="imported",
        device=device,
        backend=backend,
        framework=source.framework or framework.lower(),
        framework_version=version or origin.version,
        libraries=dict(origin.collection.facts or {}),
        source=f"{plan.source}: {origin.shown}{_stands_for(source, origin, version)}",
        measured_at=origin.collection.collected_at,
    )


def _stands_for(source: TableSource, file: SourceFile, version: str) -> str:
    """A reused version names both: what was measured, and what it stands for."""
    if file.version and file.version != source.version:
        return f" (measured with {version or file.version}, stands for {source.version} by reuse.yaml)"
    if source.version and version and version != source.version:
        return f" (measured with {version}, stands for {source.version})"
    return ""
