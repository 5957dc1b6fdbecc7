"""What one kind of table is: its place, its columns by name, and what its rows mean here. One file a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiling import discovery
from profiling.importers.aiconfigurator.columns import IntArray, Text
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge

FOLDER = "profiling/importers/aiconfigurator/tables"

Args = Mapping[str, IntArray | Text]
"""Args fields of a kind as columns."""


@dataclass(frozen=True)
class Table:
    """One kind of table.

    Attributes:
        name: As in `--table`.
        kind: The kind that its rows become.
        family: The folder of the system that it lies in.
        stems: File names without ending.
        numbers: Columns of numbers that it has to have, besides its times.
        texts: Columns of texts that it has to have.
        optional_numbers: Columns of numbers that may be absent, with the value that then holds.
        operations: Values of `operation_column` that belong to the kind; rows of others are counted, not taken.
        args: Args fields from the columns; refuses rows.
        grows_with: Args fields along which a kernel has more to do.
        libraries: Where the rows belong to a communication library and not to a stack: its folders.
        operation_column: Which column says what a row is; with another than `op_name`, several tables read one file.
        op_names: Values of `op_name` in its files, where `operations` are those of another column.
        mark: The column that only its files have, for folders of loose tables; the first of the texts by default.
        time_column: The column of times.
        time_unit_ms: What one is in that column.
        kernel_column: The column that names the kernel, the last part of a backend.
        kernel_prefix: Before it, where another table has rows of the same kernel and shapes.
    """

    name: str
    kind: str
    family: str
    stems: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    operations: frozenset[str]
    args: Callable[[Judge], Args]
    optional_numbers: Mapping[str, float] = field(default_factory=dict)
    grows_with: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    operation_column: str = "op_name"
    op_names: frozenset[str] = frozenset()
    mark: str = ""
    time_column: str = "latency"
    time_unit_ms: float = 1.0
    kernel_column: str = "kernel_source"
    kernel_prefix: str = ""

    def reads(self, columns: Collection[str], op_name: str) -> bool:
        """Whether a loose file with these columns, whose first row is of that operation, is one of its files."""
        if (self.mark or self.texts[0]) not in columns:
            return False
        return bool(self.libraries) or op_name in (self.op_names or self.operations)

    def folders(self, stack: str) -> tuple[str, ...]:
        """The folders of the family that may hold the rows for a stack."""
        return self.libraries or (stack,)


def tables() -> dict[str, Table]:
    """Every table that can be imported, by name.

    Raises:
        ServingSimError: E_STATE for a file that defines no table, or one that another file defines too.
    """
    known: dict[str, Table] = {}
    for file in discovery.scan(FOLDER):
        table = file.load("TABLE")
        if not isinstance(table, Table) or table.name != file.name or table.name in known:
            raise ServingSimError(
                "does not define a TABLE of its own name, or the second one of that name",
                code="E_STATE",
                path=str(file.path),
                hint="see profiling/importers/aiconfigurator/table.py",
            )
        known[table.name] = table
    return known
