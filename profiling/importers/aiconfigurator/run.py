"""An import from start to end: choose, read, judge, and only then write."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from profiling.importers.aiconfigurator.folder_plan import plan_folder
from profiling.importers.aiconfigurator.storing import measured_rows
from profiling.importers.aiconfigurator.system_device import ORIGIN, known_device
from profiling.importers.aiconfigurator.systems_tree import installed_tree, tree_at
from profiling.importers.aiconfigurator.taking import Taken, take
from profiling.importers.aiconfigurator.telling import import_report
from profiling.importers.aiconfigurator.tree_plan import plan_tree
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiling.device_row import DeviceRow
    from profiling.importers.aiconfigurator.plan import Choice, Plan
    from profiling.importers.report import ImportReport
    from profiling.row import MeasuredRow
    from profiling.store import UpsertCount


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
    store: RowStore, choice: Choice, *, systems_dir: str | None = None, data_dir: str | None = None
) -> ImportReport:
    """Import the chosen tables.

    Everything is read and judged before the first row is written, so that a refusal leaves the store as it was.

    Raises:
        ServingSimError: For a choice that does not exist, a file that is damaged, or where no row can be taken.
    """
    started = time.perf_counter()
    plan = plan_of(choice, systems_dir, data_dir)
    taken = [take(source, plan) for source in plan.tables]
    _refuse_empty(taken)
    devices = sorted({name for table in taken for name in table.device.present()})
    _put_devices(store, [device for name in devices if (device := known_device(plan, name)) is not None])
    written = [store.upsert(measured_rows(table, plan)) for table in taken]
    return import_report(plan, taken, written, devices, time.perf_counter() - started)


def plan_of(choice: Choice, systems_dir: str | None, data_dir: str | None) -> Plan:
    """What an import, or whoever only reads, is going to read.

    Raises:
        ServingSimError: For a choice that does not exist, or options of a system beside a folder.
    """
    if data_dir is None:
        return plan_tree(tree_at(systems_dir) if systems_dir is not None else installed_tree(), choice)
    if choice.system or choice.nccl_version or systems_dir is not None:
        raise ServingSimError(
            "--data-dir reads a folder of loose tables, where no system, library version or systems folder is chosen",
            known="--stack, --version and --device-name for rows that do not name them, --table",
            hint="leave out --system, --nccl-version and --systems-dir",
        )
    return plan_folder(data_dir, choice)


def _refuse_empty(taken: list[Taken]) -> None:
    if any(len(table.merged) for table in taken):
        return
    reasons = [f"{why} ({group.rows} rows)" for table in taken for why, group in table.refused.items()]
    others = {name for table in taken for name in table.other_operations}
    raise ServingSimError(
        f"no row of {', '.join(table.source.table.name for table in taken)} can be taken",
        known="; ".join(reasons) or f"operations {', '.join(sorted(others)) or 'none'}",
        hint="correct the tables, or choose others with --table",
        path=taken[0].source.files[0].shown,
    )


def _put_devices(store: RowStore, devices: list[DeviceRow]) -> None:
    """A device whose limits somebody has measured or looked up on the machine itself stays as it is."""
    there = {row.name: row for row in store.devices()}
    for device in devices:
        stored = there.get(device.name)
        if stored is None or not stored.has_limits or stored.limits_origin.startswith(ORIGIN):
            store.put_device(device)
