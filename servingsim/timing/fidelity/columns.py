"""Measured rows of kernels as columns, and a timing source over them: what held-out splits are asked through."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import ServingSimError
from servingsim.timing.source import KernelRows, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from servingsim.timing.contract import KernelKind
    from servingsim.timing.source import ArgValue, DeviceSpec, FloatArray, HostOverhead, Payload

BoolArray = npt.NDArray[np.bool_]
Column = npt.NDArray[Any]
"""Numbers as float64 or int64, texts as str."""


@dataclass(frozen=True)
class KernelColumns:
    """Rows of one kind, device and backend, every shape once.

    Attributes:
        kind: The profiler's kind.
        args: Its args fields as columns [rows].
        time_ms: Medians [rows].
        noise: Relative spread of each row, NaN where unknown [rows].
        trusted: False for rows that are marked as outliers [rows].
        provenance: Of all of them; names device and backend.
    """

    kind: str
    args: Mapping[str, Column]
    time_ms: FloatArray
    noise: FloatArray
    trusted: BoolArray
    provenance: Provenance

    def take(self, rows: npt.NDArray[Any]) -> KernelColumns:
        """The rows of a mask or an index."""
        return KernelColumns(
            self.kind,
            {name: column[rows] for name, column in self.args.items()},
            self.time_ms[rows],
            self.noise[rows],
            self.trusted[rows],
            self.provenance,
        )

    def __len__(self) -> int:
        return len(self.time_ms)


class Group(NamedTuple):
    """Rows of one Config: its fixed fields, and where the rows lie in their columns."""

    fixed: dict[str, ArgValue]
    rows: npt.NDArray[np.int64]


def groups_of(columns: KernelColumns, kind: KernelKind[Any, Any]) -> list[Group]:
    """Rows by what the kind's Config decides, in the order of the values."""
    names = [name for name in kind.args if name not in kind.axes]
    code = np.zeros(len(columns), dtype=np.int64)
    for name in names:
        values, index = np.unique(columns.args[name], return_inverse=True)
        _, code = np.unique(code * len(values) + index, return_inverse=True)
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(int(code.max(initial=-1)) + 2))
    found = []
    for begin, end in itertools.pairwise(ends):
        rows = order[begin:end]
        fixed = {name: _plain(columns.args[name][rows[0]]) for name in names}
        found.append(Group(fixed, rows))
    return found


@dataclass
class ColumnSource:
    """One kind's rows of one backend as a `TimingSource`, with some of them out of sight.

    Attributes:
        columns: All rows.
        kind: Their kind.
        spec: The device.
        floor_ms: The device's fastest row of any kind; None: that of the rows in sight.
        hidden: Rows that are held out [rows].
    """

    columns: KernelColumns
    kind: KernelKind[Any, Any]
    spec: DeviceSpec
    floor_ms: float | None = None
    hidden: BoolArray = field(init=False)
    _groups: list[Group] = field(init=False)
    _by_fixed: dict[tuple[ArgValue, ...], Group] = field(init=False)

    def __post_init__(self) -> None:
        """Group the rows once."""
        self.hidden = np.zeros(len(self.columns), dtype=bool)
        self._groups = groups_of(self.columns, self.kind)
        self._by_fixed = {tuple(group.fixed.values()): group for group in self._groups}

    @property
    def groups(self) -> list[Group]:
        """The rows of each Config."""
        return self._groups

    def device(self, name: str) -> DeviceSpec:
        """The one device."""
        if name != self.spec.name:
            raise ServingSimError(f"unknown device {name!r}", code="E_NOT_FOUND", known=self.spec.name)
        return self.spec

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """The one backend."""
        mine = (kind, device) == (self.columns.kind, self.spec.name)
        return (self.columns.provenance.backend,) if mine else ()

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """Rows in sight that match `fixed`; outliers are left out where the others reach as far."""
        if backend not in self.backends(kind, device):
            return None
        index = self._matching(fixed)
        index = index[~self.hidden[index]]
        if not len(index):
            return None
        args = {name: self.columns.args[name][index].astype(np.float64) for name in swept}
        trusted = self.columns.trusted[index]
        keep = trusted if _reach_as_far(args, trusted) else np.ones(len(index), dtype=bool)
        return KernelRows(
            args={name: values[keep] for name, values in args.items()},
            time_ms=self.columns.time_ms[index[keep]],
            noise=self.columns.noise[index[keep]],
            provenance=self.columns.provenance,
            untrusted=int((~trusted).sum()),
        )

    def fastest_ms(self, device: str) -> float:
        """The fastest row, held-out ones not counted."""
        del device
        if self.floor_ms is not None:
            return self.floor_ms
        return float(self.columns.time_ms[~self.hidden].min(initial=np.inf)) if len(self.columns) else 0.0

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """Not in such rows."""
        del device, stack
        return None

    def _matching(self, fixed: Payload) -> npt.NDArray[np.int64]:
        whole = self._by_fixed.get(tuple(fixed.values()))
        if whole is not None and whole.fixed == dict(fixed):
            return whole.rows
        found = [
            group.rows
            for group in self._groups
            if all(group.fixed[name] == value for name, value in fixed.items() if name in group.fixed)
        ]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _reach_as_far(args: Mapping[str, FloatArray], trusted: BoolArray) -> bool:
    """Whether the trusted rows span every axis as far as all of them."""
    if not trusted.any():
        return False
    return all(
        values[trusted].min() == values.min() and values[trusted].max() == values.max()
        for values in args.values()
    )


def _plain(value: object) -> ArgValue:
    """A numpy scalar as what pydantic and keys expect."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return int(value) if float(value).is_integer() else float(value)
    return str(value)
