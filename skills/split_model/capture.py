"""A capture as placing needs it: totals by kernel, and where the file has them, the launches of each step in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.capture import KINDS, OUTSIDE
from profiling.captures.loading import load

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from profiling.captures.capture import Capture
    from profiling.captures.contract import Phase


@dataclass(frozen=True)
class CapturedKernel:
    """One kernel of one phase, or the part of it that falls to one row.

    Attributes:
        phase: `prefill`, `decode`, `mixed`, or `unknown`.
        name: Whole.
        calls: Launches.
        total_ns: Their time.
    """

    phase: str
    name: str
    calls: int
    total_ns: int


@dataclass(frozen=True)
class LaunchKind:
    """What launches have in common that cannot be told apart.

    Attributes:
        name: Of the kernel.
        cpu_op: The host operation, empty where unknown.
        shapes: Of its inputs, as the file writes them.
        moves: A copy or a fill of the device, no kernel: plumbing, whatever stands around it.
    """

    name: str
    cpu_op: str = ""
    shapes: str = ""
    moves: bool = False


@dataclass(frozen=True)
class Stretch:
    """What one step launched on one device, in time.

    Attributes:
        phase: Of the step; `unknown` where its mark does not say, or nothing marks steps: it may be several steps.
        kinds: Index into the capture's kinds, one a launch.
        ns: Durations; 0 where the recorded one is broken.
        sound: Whether a duration counts.
    """

    phase: Phase
    kinds: NDArray[np.intp]
    ns: NDArray[np.int64]
    sound: NDArray[np.bool_]


@dataclass(frozen=True)
class Captured:
    """A capture, read.

    Attributes:
        kernels: Totals by kernel and phase: all of the file.
        kinds: Of the launches in the stretches.
        stretches: Kernels of each step, one stretch a device; all of a device where nothing marks steps.
        rest: Totals of what is in no stretch: copies and fills, and what no step holds.
    """

    kernels: tuple[CapturedKernel, ...]
    kinds: tuple[LaunchKind, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    rest: tuple[CapturedKernel, ...] = ()

    @property
    def total_ns(self) -> int:
        """All time that counts."""
        return sum(kernel.total_ns for kernel in self.kernels)


def read_capture(path: Path) -> Captured:
    """Read a capture of any format.

    Raises:
        ServingSimError: As `profiling.captures.loading.load`.
    """
    return captured(load(path))


def captured(capture: Capture) -> Captured:
    """What placing needs of a capture."""
    kernels = tuple(
        CapturedKernel(each.phase, each.name, each.calls, each.total_ns) for each in capture.totals
    )
    if not len(capture.launches):
        return Captured(kernels, rest=kernels)
    of_launch, kinds = _kinds(capture)
    # A file without any annotation is one stretch of steps that nobody marked.
    stepped = (capture.launches.step != OUTSIDE) | (not capture.steps)
    inside = stepped & (capture.launches.kind == KINDS.index("kernel"))
    stretches = _stretches(capture, of_launch, inside)
    return Captured(kernels, kinds, stretches, _rest(capture, of_launch, kinds, ~inside))


def _kinds(capture: Capture) -> tuple[NDArray[np.intp], tuple[LaunchKind, ...]]:
    """Kind of each launch, and the kinds."""
    launches = capture.launches
    keys = np.stack([launches.name, launches.cpu_op, launches.shapes, launches.kind.astype(np.int32)])
    found, of_launch = np.unique(keys, axis=1, return_inverse=True)
    kinds = tuple(
        LaunchKind(
            launches.names[name],
            launches.cpu_ops[cpu_op],
            launches.shape_texts[shapes],
            KINDS[kind] != "kernel",
        )
        for name, cpu_op, shapes, kind in found.T.tolist()
    )
    return np.asarray(of_launch, np.intp).reshape(-1), kinds


def _stretches(
    capture: Capture, of_launch: NDArray[np.intp], inside: NDArray[np.bool_]
) -> tuple[Stretch, ...]:
    """Launches of each step on each device of each process. They lie in time order by device and process."""
    launches, places = capture.launches, np.flatnonzero(inside)
    keys = np.stack([launches.step[places], launches.process[places], launches.device[places]])
    _, group = np.unique(keys, axis=1, return_inverse=True)
    order = places[np.argsort(group.reshape(-1), kind="stable")]
    ends = np.flatnonzero(np.diff(np.sort(group.reshape(-1)))) + 1
    sound = launches.broken == 0
    return tuple(
        Stretch(
            _phase(capture, int(launches.step[part[0]])),
            of_launch[part],
            np.where(sound[part], launches.duration_ns[part], 0),
            sound[part],
        )
        for part in np.split(order, ends)
        if len(part)
    )


def _phase(capture: Capture, step: int) -> Phase:
    return "unknown" if step == OUTSIDE else capture.steps[step].phase


def _rest(
    capture: Capture, of_launch: NDArray[np.intp], kinds: tuple[LaunchKind, ...], outside: NDArray[np.bool_]
) -> tuple[CapturedKernel, ...]:
    """Totals, by phase, of launches that are in no stretch."""
    launches = capture.launches
    places = np.flatnonzero(outside & (launches.broken == 0))
    keys = np.stack([launches.step[places], of_launch[places]])
    found, group = np.unique(keys, axis=1, return_inverse=True)
    ns = np.zeros(found.shape[1], np.int64)
    np.add.at(ns, group.reshape(-1), launches.duration_ns[places])
    calls = np.bincount(group.reshape(-1), minlength=found.shape[1])
    return tuple(
        CapturedKernel(_phase(capture, step), kinds[kind].name, int(calls[at]), int(ns[at]))
        for at, (step, kind) in enumerate(found.T.tolist())
    )
