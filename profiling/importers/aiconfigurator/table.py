"""What one kind of table is: its place, its columns by name, and what its rows mean here. One file a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        numbers: Columns of numbers that it has to have, besides `latency`.
        texts: Columns of texts that it has to have.
        optional_numbers: Columns of numbers that may be absent, with the value that then holds.
        operations: Values of `op_name` that belong to the kind; rows of others are counted, not taken.
        args: Args fields from the columns; refuses rows.
        grows_with: Args fields along which a kernel has more to do.
        libraries: Where the rows belong to a communication library and not to a stack: its folders.
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
