"""The fidelity of measured tables: each is split, asked and judged; the report says it by table, split and region."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from servingsim.errors import ServingSimError
from servingsim.timing.fidelity.judge import judge_table, nothing
from servingsim.timing.fidelity.report import FidelityReport
from servingsim.timing.fidelity.splits import MAX_FIT_POINTS
from servingsim.timing.registry import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.timing.fidelity.columns import KernelColumns
    from servingsim.timing.fidelity.judge import Wanted
    from servingsim.timing.fidelity.report import TableFidelity
    from servingsim.timing.source import DeviceSpec


class MeasuredTable(NamedTuple):
    """Rows of one kind, device and backend, and the device's limits."""

    columns: KernelColumns
    device: DeviceSpec


def fidelity(
    tables: Sequence[MeasuredTable],
    wanted: Wanted,
    *,
    source: str,
    notes: Sequence[str] = (),
    begun: Callable[[MeasuredTable], None] = lambda _table: None,
    tick: Callable[[], None] = nothing,
) -> FidelityReport:
    """Judge every table.

    Args:
        tables: What was measured.
        wanted: Which splits, of how many Configs.
        source: What was read, for the report.
        notes: What a reader should know about the choice.
        begun: Called before each table.
        tick: Called after each Config.

    Raises:
        ServingSimError: E_COVERAGE, no table; or rows that cannot be times.
    """
    if not tables:
        raise ServingSimError(
            "no rows to judge", code="E_COVERAGE", hint="import or measure rows first: python -m profiling"
        )
    found = []
    for table in tables:
        begun(table)
        found.append(_judged(table, wanted, tick))
    return FidelityReport(
        source=source,
        max_fit_points=MAX_FIT_POINTS,
        most_configs=wanted.most_configs,
        notes=list(notes),
        tables=found,
    )


def _judged(table: MeasuredTable, wanted: Wanted, tick: Callable[[], None]) -> TableFidelity:
    kind = next(kind for kind in kernels().values() if kind.table == table.columns.kind)
    return judge_table(table.columns, table.device, kind, wanted, tick)
