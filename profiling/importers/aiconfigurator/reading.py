"""Tables of the package as judged columns in memory, for whoever only wants to look: nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.columns import Text
from profiling.importers.aiconfigurator.run import plan_of
from profiling.importers.aiconfigurator.system_device import known_device
from profiling.importers.aiconfigurator.taking import select, take
from servingsim.timing.source import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from profiling.device_row import DeviceRow
    from profiling.importers.aiconfigurator.columns import BoolArray, FloatArray, IntArray
    from profiling.importers.aiconfigurator.plan import Choice, Plan
    from profiling.importers.aiconfigurator.taking import Taken

TextArray = np.ndarray[tuple[int], np.dtype[np.str_]]


@dataclass(frozen=True)
class ReadTable:
    """Distinct, judged rows of one kind, device and backend.

    Attributes:
        kind: The kind of this store.
        device: Its limits; None where nobody knows them.
        args: Args fields as columns, texts as str.
        time_ms: Medians [rows].
        noise: Relative spread of repeated measurements, NaN for a single one [rows].
        trusted: False for suspicious rows [rows].
        provenance: Of all rows.
    """

    kind: str
    device: DeviceRow | None
    args: Mapping[str, IntArray | TextArray]
    time_ms: FloatArray
    noise: FloatArray
    trusted: BoolArray
    provenance: Provenance


def read_tables(
    choice: Choice, *, systems_dir: str | None = None, data_dir: str | None = None
) -> list[ReadTable]:
    """Read and judge the chosen tables, as an import would.

    Raises:
        ServingSimError: For a choice that does not exist or a file that is damaged.
    """
    plan = plan_of(choice, systems_dir, data_dir)
    return [part for source in plan.tables for part in _parts(take(source, plan), plan)]


def _parts(taken: Taken, plan: Plan) -> Iterator[ReadTable]:
    """The rows of each device and backend."""
    suspicious = np.zeros(len(taken.merged), dtype=np.bool_)
    for marked in taken.outliers.values():
        suspicious |= marked
    both = Text.join([taken.device, taken.backend], lambda device, backend: f"{device}\n{backend}")
    for code in np.unique(both.codes):
        rows = np.flatnonzero(both.codes == code)
        device, backend = both.names[int(code)].split("\n")
        framework, _, version = backend.partition(":")[0].rpartition("-")
        yield ReadTable(
            kind=taken.kind.name,
            device=known_device(plan, device),
            args={name: _plain(column) for name, column in select(taken.args, rows).items()},
            time_ms=taken.merged.median_ms[rows],
            noise=taken.merged.cv[rows],
            trusted=~suspicious[rows],
            provenance=Provenance(
                "imported", device, backend, framework, version, f"{plan.source}: {taken.source.table.name}"
            ),
        )


def _plain(column: IntArray | Text) -> IntArray | TextArray:
    return np.array(column.names)[column.codes] if isinstance(column, Text) else column
