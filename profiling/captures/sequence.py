"""What a step launched on one device, in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.capture import OUTSIDE
from profiling.captures.fold import fold
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiling.captures.capture import Capture
    from profiling.captures.fold import Part


def folded_names(capture: Capture, step: int, device: int | None) -> list[Part]:
    """See `Capture.sequence`."""
    places = launches_of(capture, step, device)
    return fold(capture.launches.name[places], lambda index: capture.launches.names[index])


def launches_of(capture: Capture, step: int, device: int | None = None) -> NDArray[np.intp]:
    """Places of a step's launches on one device in `capture.launches`, in time.

    Raises:
        ServingSimError: E_NOT_FOUND, no such step or device; E_INPUT, the file holds only totals.
    """
    launches = capture.launches
    if not len(launches):
        raise ServingSimError(
            "holds totals by kernel, no sequence of launches",
            path=str(capture.path),
            hint="give the trace itself: a torch profiler trace, or nsys export --type sqlite",
        )
    if step != OUTSIDE and not 0 <= step < len(capture.steps):
        known = f"0 to {len(capture.steps) - 1}" if capture.steps else "none"
        raise ServingSimError(
            f"no step {step}",
            code="E_NOT_FOUND",
            known=f"{known}; {OUTSIDE} is what no step holds",
            path=str(capture.path),
        )
    inside = launches.step == step
    wanted = main_device(capture, step) if device is None else device
    if device is not None and device not in {each.index for each in capture.devices}:
        raise ServingSimError(
            f"no device {device}",
            code="E_NOT_FOUND",
            known=", ".join(str(each.index) for each in capture.devices),
            path=str(capture.path),
        )
    places = np.flatnonzero(inside & (launches.device == wanted))
    return places[np.argsort(launches.start_ns[places], kind="stable")]


def main_device(capture: Capture, step: int) -> int:
    """The device on which a step launched most, the lowest of equal ones."""
    devices, counts = np.unique(capture.launches.device[capture.launches.step == step], return_counts=True)
    return int(devices[np.argmax(counts)]) if len(devices) else OUTSIDE
