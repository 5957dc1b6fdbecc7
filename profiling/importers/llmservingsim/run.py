"""An import from start to end: find, read, judge, and only then write."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from profiling.datasheet import datasheet_device
from profiling.device_row import DeviceRow
from profiling.importers.llmservingsim.merging import merge
from profiling.importers.llmservingsim.profile import find_profiles
from profiling.importers.llmservingsim.rows import RankFolder
from profiling.importers.llmservingsim.shape import fitting, read_config
from profiling.importers.report import FileRead, ImportReport, TableReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from profiling.importers.llmservingsim.profile import Profile
    from profiling.importers.llmservingsim.rows import FolderRows
    from profiling.row import MeasuredRow
    from profiling.store import UpsertCount

NAME = "llmservingsim"


class RowStore(Protocol):
    """What an import needs of a store."""

    def upsert(self, rows: Iterable[MeasuredRow]) -> UpsertCount:
        """Write rows."""
        ...

    def put_device(self, device: DeviceRow) -> UpsertCount:
        """Write a device."""
        ...

    def devices(self) -> list[DeviceRow]:
        """The stored devices."""
        ...


def run_import(
    store: RowStore, folder: str, config_paths: Sequence[str], device_name: str = ""
) -> ImportReport:
    """Import every profile below a folder.

    Everything is read and checked before the first row is written, so that a refusal leaves the store as it was.

    Raises:
        ServingSimError: No profile, a config that fits none, or a damaged file.
    """
    started = time.perf_counter()
    profiles, configs = find_profiles(folder), [read_config(path) for path in config_paths]
    source = f"LLMServingSim profile {Path(folder).resolve().name}"
    read: dict[str, FolderRows] = {}
    for profile in profiles:
        config = fitting(profile, configs)
        for tp, path in profile.ranks.items():
            device = device_name or profile.device
            rank = RankFolder(path, config.of_rank(tp), profile, device, f"{source}: {profile.shown}")
            read[f"{profile.shown}/{path.name}"] = rank.read()
    merged = merge(
        {f"{place}/{file}": each for place, found in read.items() for file, each in found.rows.items()}
    )
    devices = sorted({row.origins.device for each in merged.rows.values() for row in each})
    _put_devices(store, devices)
    written = {name: store.upsert(each) for name, each in merged.rows.items()}
    tables = {
        f"{place}/{file}": _table(
            f"{place}/{file}", found, file, merged.repeated[f"{place}/{file}"], written[f"{place}/{file}"]
        )
        for place, found in read.items()
        for file in found.rows
    }
    return _report(source, profiles, devices, tables, time.perf_counter() - started)


def _put_devices(store: RowStore, names: Sequence[str]) -> None:
    """Limits of the datasheet where the store has none; a device that nobody knows is stored without."""
    there = {row.name: row for row in store.devices()}
    for name in names:
        stored = there.get(name)
        if stored is None or not stored.has_limits:
            unknown = DeviceRow(name=name, type="cuda", memory_bytes=0, source=NAME)
            store.put_device(datasheet_device(name) or unknown)


def _report(
    source: str,
    profiles: Sequence[Profile],
    devices: list[str],
    tables: dict[str, TableReport],
    elapsed_s: float,
) -> ImportReport:
    skipped = {
        f"{place}/{file}": "their own fit of unequal lengths, not measured times"
        for place, file in _fits(profiles)
    }
    return ImportReport(
        importer=NAME,
        source=source,
        system="",
        stack="vllm",
        version=", ".join(sorted({profile.version for profile in profiles})),
        devices=devices,
        rows_read=sum(table.rows_read for table in tables.values()),
        rows_kept=sum(table.rows_kept for table in tables.values()),
        rows_refused=0,
        outliers=0,
        inserted=sum(table.inserted for table in tables.values()),
        updated=sum(table.updated for table in tables.values()),
        unchanged=sum(table.unchanged for table in tables.values()),
        tables=tables,
        not_imported=skipped,
        notes=[
            "attention: one launch over a chunk and decodes; several chunks are read as one of as many pairs",
            "attention's rows include the write of new keys and values; qk_norm's rows are those of the queries",
            "moe: times at the experts that even routing hits in expectation, on a line between measured counts",
        ],
        elapsed_s=round(elapsed_s, 3),
    )


def _table(name: str, found: FolderRows, file: str, repeated: int, written: UpsertCount) -> TableReport:
    rows, left_out = found.rows[file], found.left_out.get(file, {})
    backends = {row.origins.backend for row in rows}
    return TableReport(
        kind=", ".join(sorted({row.kind for row in rows})),
        stands_for=sorted({backend.partition(":")[0] for backend in backends}),
        files=[
            FileRead(
                path=name,
                rows=len(rows) + sum(left_out.values()),
                measured_versions=sorted({row.origins.framework_version for row in rows}),
            )
        ],
        rows_read=len(rows) + sum(left_out.values()),
        rows_kept=len(rows) - repeated,
        rows_merged=repeated,
        rows_superseded=0,
        other_operations=left_out,
        refused={},
        outliers={},
        backends=dict.fromkeys(sorted(backends), len(rows)),
        noise=None,
        inserted=written.inserted,
        updated=written.updated,
        unchanged=written.unchanged,
    )


def _fits(profiles: Sequence[Profile]) -> list[tuple[str, str]]:
    return [
        (f"{profile.shown}/{path.name}", "skew_fit.csv")
        for profile in profiles
        for path in profile.ranks.values()
        if (path / "skew_fit.csv").exists()
    ]
