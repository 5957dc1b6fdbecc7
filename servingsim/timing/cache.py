"""The cache contract: what a file in `caches/` has to define for a kernel's rows to be read by it.

A cache answers for the time of a shape from measured times of other shapes. It knows the necessary work of every
shape (`CacheContext.work_ms`), so that it can interpolate along work instead of along sizes and hold the achieved
rate beyond the measured range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from servingsim.errors import CoverageError
    from servingsim.timing.source import ArgValue, DeviceSpec, FloatArray

FlagArray = npt.NDArray[np.uint8]


class Points(NamedTuple):
    """Measured points: `coords` of shape [points, axes] in any order, `time_ms` [points].

    `noise` is their relative spread [points], NaN where it is unknown; None where nobody says.
    """

    coords: FloatArray
    time_ms: FloatArray
    noise: FloatArray | None = None


@dataclass(frozen=True)
class CacheContext:
    """What a cache is told beside the points.

    Attributes:
        subject: Whose times these are, for messages: kind, backend, device.
        axes: Names of the coordinates.
        work_ms: Necessary work at coordinates [N, axes] as time at the device's peaks, FLOPs and bytes one after
            the other: a smooth measure of work, not a bound.
        limit_ms: The device's physical limit at coordinates: no answer goes below it.
        floor_ms: No extrapolation towards small shapes goes below it: the device's fastest kernel.
        remedy: What to measure or run where the points do not suffice.
        device: Whose times they are; None where nobody says.
        fixed: Fields of the shape that no axis holds.
        beside: Other backends' points of the same shape on the device, loaded when a cache asks for them.
    """

    subject: str
    axes: tuple[str, ...]
    work_ms: Callable[[FloatArray], FloatArray]
    limit_ms: Callable[[FloatArray], FloatArray]
    floor_ms: float = 0.0
    remedy: str = "measure more points"
    device: DeviceSpec | None = None
    fixed: Mapping[str, ArgValue] = field(default_factory=dict)
    beside: Callable[[], tuple[Points, ...]] = tuple


class Cache(Protocol):
    """Times at any coordinates, from points."""

    def eval(self, coords: FloatArray) -> tuple[FloatArray, FlagArray]:
        """Times [N] in ms and coverage flags [N] at coordinates [N, axes].

        Raises:
            CoverageError: A coordinate on an axis where the points have one value, another than that.
        """
        ...

    def try_eval(
        self, coords: FloatArray, work_ms: FloatArray, limit_ms: FloatArray
    ) -> tuple[FloatArray, FlagArray]:
        """As `eval` with the context's functions evaluated already; refused points are NaN, NO_COVERAGE."""
        ...

    def error(self, coords: FloatArray) -> FloatArray:
        """Half width of the 90 % interval of the answers [N], relative to them: at least 0, NaN where unknown."""
        ...

    def refusal(self, coords: FloatArray) -> CoverageError | None:
        """Why the first refused point of `coords` is refused; None where every point has an answer."""
        ...


@dataclass(frozen=True)
class CacheKind:
    """One file in `caches/` defines one as `CACHE`.

    Attributes:
        name: Equal to the file's stem; kernels name it.
        min_axes: Fewest axes it reads.
        max_axes: Most axes it reads.
        build: Points to a cache; refuses points that cannot be times of shapes.
    """

    name: str
    min_axes: int
    max_axes: int
    build: Callable[[Points, CacheContext], Cache]


def checked_coords(coords: FloatArray, subject: str, axes: tuple[str, ...]) -> FloatArray:
    """Coordinates as a contiguous float64 array of shape [N, axes].

    Raises:
        ServingSimError: Another shape, or a coordinate that is not a number, infinite or negative.
    """
    array = np.ascontiguousarray(coords, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != len(axes):
        raise ServingSimError(
            f"{subject}: coordinates of shape {array.shape}",
            known=f"[points, {len(axes)}] for the axes {', '.join(axes)}",
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row, column = (int(found[0]) for found in np.nonzero(bad))
        raise ServingSimError(
            f"{subject}: {axes[column]} = {array[row, column]} at point {row}",
            known="coordinates are finite and not negative",
        )
    return array
