"""The host's side of a trace in columns: calls that launch, operations, and the device's events that wait for them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profiling.captures.contract import UNKNOWN
from profiling.captures.sink import LARGEST, MOST_LAUNCHES, Texts
from profiling.captures.torch_profiler.host_only import Spans
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

MOST_HOST_EVENTS = 8_000_000
LAUNCH, GRAPH = 1, 2
SMALL = {"name", "kind", "grid", "graph"}
"""Columns of indices."""


class DeviceEvent(NamedTuple):
    """A kernel, copy or fill as its event says it."""

    name: int
    kind: int
    start_ns: int
    duration_ns: int
    device: int
    stream: int
    correlation: int
    external: int
    grid: int
    graph: int


class Caller(NamedTuple):
    """Who launched an event: its operation and shapes as indices of texts, when, and whether by a graph."""

    op: int
    shapes: int
    launched_ns: int
    graph: bool


class Host:
    """Columns that resolve who launched what."""

    def __init__(self) -> None:
        self.names: Texts[str] = Texts()
        self.ops: Texts[str] = Texts("")
        self.shapes: Texts[str] = Texts("")
        self.grids: Texts[tuple[int, ...]] = Texts(())
        self._calls = {name: array("q") for name in ("correlation", "launched_ns", "external")}
        self._call_kind = array("B")
        self._ops = {"external": array("q"), "op": array("i"), "shapes": array("i")}
        self._device = {name: array("i" if name in SMALL else "q") for name in DeviceEvent._fields}
        self._append = [column.append for column in self._device.values()]
        self.spans = Spans()

    def call(self, correlation: int, launched_ns: int, external: int, kind: int) -> None:
        """A call of the runtime or the driver; `kind` tells launches (LAUNCH) and replays of graphs (GRAPH)."""
        if len(self._call_kind) < MOST_HOST_EVENTS:
            self._calls["correlation"].append(_bounded(correlation))
            self._calls["launched_ns"].append(_bounded(launched_ns))
            self._calls["external"].append(_bounded(external))
            self._call_kind.append(kind)

    def operation(self, external: int, name: str, shapes: str, span: tuple[int, int, int] | None) -> None:
        """An operation of the host, by the id that its launches carry; `span` is its start, duration and thread."""
        if len(self._ops["op"]) >= MOST_HOST_EVENTS:
            return
        op, shape = self.ops.index(name, len(name)), self.shapes.index(shapes, len(shapes))
        if external > 0:
            self._ops["external"].append(_bounded(external))
            self._ops["op"].append(op)
            self._ops["shapes"].append(shape)
        if span is not None and not len(self):
            self.spans.add(_bounded(span[0]), _bounded(span[1]), _bounded(span[2]), op, shape)

    def event(self, event: DeviceEvent) -> None:
        """An execution on a device."""
        if len(self) >= MOST_LAUNCHES:
            raise ServingSimError(
                f"more than {MOST_LAUNCHES} launches",
                code="E_LIMIT",
                hint="profile fewer steps: a few tell enough",
            )
        if max(event) > LARGEST or min(event) < -LARGEST:
            event = DeviceEvent(*map(_bounded, event))
        for append, value in zip(self._append, event, strict=True):
            append(value)

    def __len__(self) -> int:
        return len(self._device["start_ns"])

    @property
    def launches(self) -> int:
        """Calls that launch something."""
        return int((np.asarray(self._call_kind) > 0).sum()) if self._call_kind else 0

    def unmatched(self) -> int:
        """Calls that launch something of which the file holds no execution."""
        calls = np.asarray(self._calls["correlation"], np.int64)[np.asarray(self._call_kind, np.uint8) > 0]
        return int((~np.isin(calls, np.asarray(self._device["correlation"], np.int64))).sum())

    def resolved(self) -> Iterator[tuple[DeviceEvent, Caller]]:
        """Every execution with who launched it."""
        call_at = _place(self._calls["correlation"], self._device["correlation"])
        launched = _taken(self._calls["launched_ns"], call_at, UNKNOWN)
        by_graph = _taken(self._call_kind, call_at, 0) == GRAPH
        external = np.asarray(self._device["external"], np.int64)
        external = np.where(external > 0, external, _taken(self._calls["external"], call_at, UNKNOWN))
        op_at = _place(self._ops["external"], external)
        ops = _taken(self._ops["op"], op_at, 0).astype(np.int32)
        shapes = _taken(self._ops["shapes"], op_at, 0).astype(np.int32)
        del call_at, external, op_at
        columns = [self._device[name] for name in DeviceEvent._fields]
        for at, values in enumerate(zip(*columns, strict=True)):
            event = DeviceEvent(*values)
            replayed = bool(event.graph) or bool(by_graph[at])
            yield event, Caller(int(ops[at]), int(shapes[at]), int(launched[at]), replayed)


def _place(keys: array[int], wanted: array[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each wanted key stands; -1 where it does not, or is no key."""
    known, asked = np.asarray(keys, np.int64), np.asarray(wanted, np.int64)
    if not len(known):
        return np.full(len(asked), -1, np.int64)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], asked), len(known) - 1)
    return np.where((known[order[at]] == asked) & (asked > 0), order[at], -1)


def _taken(values: array[int], at: NDArray[np.int64], otherwise: int) -> NDArray[np.int64]:
    if not len(values):
        return np.full(len(at), otherwise, np.int64)
    return np.where(at >= 0, np.asarray(values, np.int64)[np.maximum(at, 0)], otherwise)


def _bounded(value: int) -> int:
    return min(max(value, -LARGEST), LARGEST)
