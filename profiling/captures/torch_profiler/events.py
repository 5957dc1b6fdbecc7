"""What the events of a trace mean, whichever version and device wrote them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from profiling.captures.contract import UNKNOWN, Mark
from profiling.captures.step_names import step_name
from profiling.captures.torch_profiler.host import GRAPH, LAUNCH, DeviceEvent

if TYPE_CHECKING:
    from profiling.captures.contract import Sink
from profiling.captures.torch_profiler.host import Host

DEVICE = {"kernel": 0, "gpu_memcpy": 1, "memcpy": 1, "gpu_memset": 2, "memset": 2}
OPERATIONS = {"cpu_op", "operator"}
MARKS = {"user_annotation", "gpu_user_annotation"}
LONGEST_SHAPES = 200
LONGEST_NAME = 4096
LARGEST_POWER = 18
"""Of ten, of a time in microseconds: more is none."""


class Events:
    """Sorts events into the host's columns and counts the rest.

    Args:
        host: Takes calls, operations and executions.
        sink: Takes annotations.
    """

    def __init__(self, host: Host, sink: Sink) -> None:
        self._host = host
        self._sink = sink
        self.host_events = 0
        self.captures = 0
        self.engine_steps = 0
        self.devices_seen: set[int] = set()

    def take(self, event: dict[str, Any]) -> None:
        """One event."""
        if event.get("ph", "X") != "X":
            return
        category = str(event.get("cat", "")).lower()
        if category in DEVICE:
            self._execution(event, DEVICE[category])
        elif category in MARKS:
            self._mark(event, on_device=category.startswith("gpu"))
        elif category in OPERATIONS:
            self._operation(event)
        elif category.endswith(("runtime", "driver")):
            self._call(event)

    def _execution(self, event: dict[str, Any], kind: int) -> None:
        start, duration, name = nanoseconds(event.get("ts")), nanoseconds(event.get("dur")), event.get("name")
        if start is None or duration is None or not isinstance(name, str):
            self._sink.damaged("executions without a name, a start or a duration")
            return
        args = _args(event)
        device = _first(args.get("device"), event.get("pid"))
        self.devices_seen.add(device)
        grid = _grid(args)
        host = self._host
        text = name[:LONGEST_NAME]
        host.event(
            DeviceEvent(
                name=host.names.index(text, len(text)),
                kind=kind,
                start_ns=start,
                duration_ns=duration,
                device=device,
                stream=_first(args.get("stream"), event.get("tid")),
                correlation=_first(args.get("correlation")),
                external=_external(args),
                grid=host.grids.index(grid, 32),
                graph=int(_first(args.get("graph node id")) > 0),
            )
        )

    def _mark(self, event: dict[str, Any], *, on_device: bool) -> None:
        start, duration, name = nanoseconds(event.get("ts")), nanoseconds(event.get("dur")), event.get("name")
        if start is None or duration is None or not isinstance(name, str):
            self._sink.damaged("annotations without a name, a start or a duration")
            return
        where = {"device": _first(event.get("pid"))} if on_device else {"thread": _first(event.get("tid"))}
        says = step_name(name)
        self.engine_steps += says is not None and says.engine
        self._sink.mark(Mark(name[:LONGEST_NAME], start, start + duration, **where))

    def _operation(self, event: dict[str, Any]) -> None:
        self.host_events += 1
        args = _args(event)
        external, name = _external(args), event.get("name")
        start, duration = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
        if isinstance(name, str):
            dims = args.get("Input Dims", args.get("Input dims"))
            shapes = json.dumps(dims, separators=(",", ":"))[:LONGEST_SHAPES] if dims else ""
            span = (start, duration, _first(event.get("tid"))) if start is not None and duration else None
            self._host.operation(external, name[:LONGEST_NAME], shapes, span)

    def _call(self, event: dict[str, Any]) -> None:
        self.host_events += 1
        name, start = str(event.get("name", "")), nanoseconds(event.get("ts"))
        if "BeginCapture" in name:
            self.captures += 1
        args = _args(event)
        correlation = _first(args.get("correlation"))
        if correlation > 0 and start is not None:
            self._host.call(correlation, start, _external(args), _call_kind(name))


def nanoseconds(value: object) -> int | None:
    """A time in microseconds, as a number or as text, without loss; None where it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value * 1000
    text = str(value)
    whole, _, part = text.partition(".")
    if whole.isascii() and whole.isdigit() and part.isascii() and (part.isdigit() or not part):
        digits = (part + "0000")[:4]
        return int(whole) * 1000 + int(digits[:3]) + (digits[3] >= "5") if len(whole) < 20 else None
    try:
        exact = Decimal(text)
        if not exact.is_finite() or exact.adjusted() > LARGEST_POWER:
            return None
        return int((exact * 1000).to_integral_value())
    except (ArithmeticError, ValueError):
        return None


def _call_kind(name: str) -> int:
    if "GraphLaunch" in name:
        return GRAPH
    return LAUNCH if "Launch" in name and "HostFunc" not in name else 0


def _args(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _external(args: dict[str, Any]) -> int:
    return _first(args.get("External id"), args.get("external id"))


def _grid(args: dict[str, Any]) -> tuple[int, ...]:
    sizes = [args.get("grid"), args.get("block")]
    flat = [each for size in sizes if isinstance(size, list) for each in size]
    return tuple(flat) if len(flat) == 6 and all(type(each) is int for each in flat) else ()


def _first(*values: object) -> int:
    """The first that is a number; UNKNOWN where none is."""
    for value in values:
        if type(value) is int:
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            return int(value)
    return UNKNOWN
