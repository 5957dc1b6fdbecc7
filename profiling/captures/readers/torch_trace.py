"""Traces of torch.profiler, `.json` or `.json.gz`: CUDA and ROCm, of any version, graph replays among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profiling.captures.capture import KINDS
from profiling.captures.contract import KernelLaunch, Reader
from profiling.captures.torch_profiler.events import Events
from profiling.captures.torch_profiler.host import Host
from profiling.captures.torch_profiler.stream import EventStream
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.contract import Sink

SIGNS = (b'"traceEvents"', b'"ph"', b'"deviceProperties"', b'"schemaVersion"', b'"distributedInfo"')
VERSIONS = {
    "schemaVersion": "schema",
    "cuda_runtime_version": "cuda_runtime",
    "hip_runtime_version": "hip_runtime",
    "cupti_version": "cupti",
    "roctracer_version": "roctracer",
    "with_stack": "with_stack",
    "record_shapes": "record_shapes",
}
AGAIN = "profile again with ProfilerActivity.CUDA in `activities`, around steps after the warm-up"


def recognises(_path: Path, head: bytes) -> bool:
    """A JSON object or list that speaks of trace events."""
    start = head.decode("utf-16", "ignore").encode() if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else head
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return any(sign in start for sign in SIGNS) or start[1:].lstrip()[:1] in {b'"', b"}", b""}
    return start.startswith(b"[") and b'"ph"' in start


def read(path: Path, sink: Sink) -> None:
    """Hand on everything that a trace holds.

    Raises:
        ServingSimError: E_INPUT, no trace, cut off, or without a kernel; E_LIMIT.
    """
    host = Host()
    stream = EventStream(path, sink.damaged)
    events = Events(host, sink)
    for event in stream.events():
        events.take(event)
    _tell_file(stream.beside, events.devices_seen, sink)
    sink.fact("events", str(stream.count))
    sink.fact("host_events", str(events.host_events))
    sink.fact("graph_capture", str(events.captures))
    if not len(host) and _ran_on_host(host, events):
        sink.fact("host_only", "1")
        sink.device(0, "CPU")
        for launch in host.spans.launches(host.ops.values(), host.shapes.values()):
            sink.launch(launch)
        return
    if not len(host):
        raise _no_kernels(path, stream, host, events)
    sink.fact("launches_without_kernel", str(host.unmatched()))
    _tell_launches(host, sink)


def _ran_on_host(host: Host, events: Events) -> bool:
    """An engine marked its steps, and nothing was launched on any device: the CPU is the device."""
    return events.engine_steps > 0 and len(host.spans) > 0 and not host.launches


def _tell_launches(host: Host, sink: Sink) -> None:
    names, ops, shapes, grids = (texts.values() for texts in (host.names, host.ops, host.shapes, host.grids))
    for event, caller in host.resolved():
        sink.launch(
            KernelLaunch(
                name=str(names[event.name]),
                start_ns=event.start_ns,
                duration_ns=event.duration_ns,
                device=event.device,
                stream=event.stream,
                kind=KINDS[event.kind],
                correlation=event.correlation,
                graph=caller.graph,
                cpu_op=str(ops[caller.op]),
                shapes=str(shapes[caller.shapes]),
                grid=tuple(grids[event.grid]),  # type: ignore[arg-type]
                launched_ns=caller.launched_ns,
            )
        )


def _tell_file(beside: dict[str, Any], seen: set[int], sink: Sink) -> None:
    """What the trace says of its devices and of its rank, wherever in the file it says it."""
    devices = beside.get("deviceProperties")
    named = {
        each["id"]: each["name"]
        for each in (devices if isinstance(devices, list) else ())
        if isinstance(each, dict) and type(each.get("id")) is int and isinstance(each.get("name"), str)
    }
    only = next(iter(named.values()), "") if len(set(named.values())) == 1 else ""
    for index in sorted(named.keys() | seen):  # ROCm counts host sockets among the agents: its ids are others
        sink.device(index, named.get(index, only))
    spread = beside.get("distributedInfo")
    for name in ("rank", "world_size", "backend"):
        if isinstance(spread, dict) and name in spread:
            sink.fact(name, str(spread[name]))
    for name, fact in VERSIONS.items():
        if name in beside:
            sink.fact(fact, str(beside[name]))


def _no_kernels(path: Path, stream: EventStream, host: Host, events: Events) -> ServingSimError:
    """Why a trace has none, as far as it says."""
    hint = AGAIN
    if not stream.count:
        what = (
            "holds no event"
            if "traceEvents" in stream.beside or not stream.beside
            else "is no trace: no traceEvents"
        )
    elif events.captures:
        what = (
            f"is a trace of graph capture: {host.launches} launches of the host went into {events.captures} graphs, "
            "and none ran"
        )
        hint = "profile the replays: steps after the graphs were captured"
    elif host.launches:
        what = f"holds {host.launches} launches of the host and no execution on a device: the device was not traced"
    elif events.host_events:
        what = (
            f"is a trace of the host alone: {events.host_events} operations and calls, no kernel of a device"
        )
    else:
        what = f"holds {stream.count} events, none of them a kernel"
    return ServingSimError(what, path=str(path), hint=hint)


READER = Reader("torch", "a trace of torch.profiler (.json, .json.gz)", recognises, read)
