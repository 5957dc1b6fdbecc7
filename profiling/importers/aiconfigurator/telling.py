"""The report of an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.report import FileRead, ImportReport, NoiseFloor, RowGroup, TableReport
from profiling.store import UpsertCount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.importers.aiconfigurator.plan import Plan
    from profiling.importers.aiconfigurator.taking import Taken

NAME = "aiconfigurator"


def import_report(
    plan: Plan, taken: Sequence[Taken], written: Sequence[UpsertCount], devices: list[str], elapsed_s: float
) -> ImportReport:
    """What was read, kept, refused and written."""
    tables = {
        table.source.table.name: _table(table, count) for table, count in zip(taken, written, strict=True)
    }
    total = sum(written, UpsertCount())
    return ImportReport(
        importer=NAME,
        source=plan.source,
        system=plan.system,
        stack=plan.stack,
        version=plan.version,
        devices=devices,
        rows_read=sum(report.rows_read for report in tables.values()),
        rows_kept=sum(report.rows_kept for report in tables.values()),
        rows_refused=sum(report.rows_refused for report in tables.values()),
        outliers=sum(group.rows for report in tables.values() for group in report.outliers.values()),
        inserted=total.inserted,
        updated=total.updated,
        unchanged=total.unchanged,
        tables=tables,
        not_imported=dict(plan.not_imported),
        notes=[*plan.notes, *(note for table in taken for note in _other_versions(table))],
        elapsed_s=round(elapsed_s, 3),
    )


def _table(taken: Taken, written: UpsertCount) -> TableReport:
    merged = taken.merged
    rows_other = sum(taken.other_operations.values())
    return TableReport(
        kind=taken.kind.name,
        stands_for=sorted({name.partition(":")[0] for name in taken.backend.present()}),
        files=_files(taken),
        rows_read=len(taken.columns) + rows_other,
        rows_kept=len(merged),
        rows_merged=int(merged.samples.sum()) - len(merged),
        rows_superseded=taken.superseded,
        other_operations=dict(taken.other_operations),
        refused=dict(taken.refused),
        outliers={
            reason: RowGroup(
                rows=int(rows.sum()), example=taken.columns.show(int(taken.rows[np.argmax(rows)]))
            )
            for reason, rows in taken.outliers.items()
        },
        backends=_backends(taken),
        noise=_noise(taken),
        inserted=written.inserted,
        updated=written.updated,
        unchanged=written.unchanged,
    )


def _files(taken: Taken) -> list[FileRead]:
    version = taken.columns.texts["version"]
    return [
        FileRead(
            path=file.shown,
            rows=int(taken.file_rows[place]),
            measured_versions=version.take(taken.columns.file == place).present()[:10],
        )
        for place, file in enumerate(taken.source.files)
    ]


def _backends(taken: Taken) -> dict[str, int]:
    counts = np.bincount(taken.backend.codes, minlength=len(taken.backend.names))
    return {
        name: int(count) for name, count in sorted(zip(taken.backend.names, counts, strict=True)) if count
    }


def _noise(taken: Taken) -> NoiseFloor | None:
    spread = taken.merged.spread[np.isfinite(taken.merged.spread)]
    if not len(spread):
        return None
    median, p95 = np.percentile(spread, [50, 95])
    return NoiseFloor(repeated_shapes=len(spread), median_spread=float(median), p95_spread=float(p95))


def _other_versions(taken: Taken) -> list[str]:
    """Rows that name another version than the folder they lie in."""
    return [
        f"{taken.source.table.name}: rows of {file.shown} say version {', '.join(read.measured_versions)}"
        for file, read in zip(taken.source.files, _files(taken), strict=True)
        if file.version and set(read.measured_versions) - {file.version, ""}
    ]
