"""In the subject's process: the shapes to probe, chosen from what was fitted."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from profiling.registry import kind_named
from profiling.specs import validate
from servingsim.errors import ServingSimError
from skills.validate_cache.opened import fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from servingsim.timing.contract import KernelInput
    from servingsim.timing.engine import Kernel
    from servingsim.timing.source import FloatArray

WORKLOAD = (1, 3, 12, 50, 200, 777, 2085, 3000, 5000, 8229, 16411)
"""Sizes that serving asks for: odd batches, chunked prefill with a few decodes beside it."""
BEYOND = (1.25, 2.0)
"""How far above an axis, as a ratio; the same below it, down to 1."""
DRAWS = 40
"""Random shapes inside the fit that are looked at for each one wanted."""
SIDE_PROBES = 2
CONTROLS = 3
"""Shapes of the fit that are measured again: what lies between two measurements is noise."""


@dataclass
class Chosen:
    """Probes by region, and sides where none can be.

    Attributes:
        probes: Plain data: region, input, args, coordinates.
        unreachable: Why a side has no shape.
    """

    probes: list[dict[str, Any]] = field(default_factory=list)
    unreachable: dict[str, str] = field(default_factory=dict)
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def take(self, found: Iterable[dict[str, Any]], most: int) -> int:
        """Keep the first `most` that are new; returns how many were kept."""
        kept = 0
        for probe in found:
            key = (*probe["args"].values(), *probe["coordinates"])
            if kept < most and key not in self._seen:
                self._seen.add(key)
                self.probes.append(probe)
                kept += 1
        return kept


def choose(kernel: Kernel, *, most: int, seed: int, quantised: bool) -> Chosen:
    """Shapes on both sides of every axis first, then the control, then inside the fit."""
    chosen, points = Chosen(), fitted(kernel)
    draw = np.random.default_rng(seed)
    for column, axis in enumerate(kernel.kind.axes):
        for above in (False, True):
            _side(kernel, points, column, f"{'above' if above else 'below'}_{axis}", chosen)
    chosen.take(_shapes(kernel, "on_grid", _spread(points, CONTROLS)), CONTROLS)
    left = max(most - len(chosen.probes), 2)
    special = left // 2
    if quantised:
        chosen.take(_shapes(kernel, "bucket_boundary", _boundaries(points, special)), special)
    if kernel.kind.reaxis:
        chosen.take(_physical(kernel, points, draw, special), special)
    chosen.take(_inside(kernel, points, draw, left), max(most - len(chosen.probes), 1))
    return chosen


def given(kernel: Kernel, inputs: list[dict[str, Any]]) -> Chosen:
    """The Inputs that the caller names, each in the region that it lies in.

    Raises:
        ServingSimError: E_INPUT, one that the kind refuses or that no args describe.
    """
    points, chosen = fitted(kernel), Chosen()
    for index, data in enumerate(inputs):
        try:
            call = kernel.kind.input.model_validate(data)
        except ValidationError as error:
            raise ServingSimError(
                f"{data}: {error.errors()[0]['msg']}", path=f"probes[{index}]", hint="correct it"
            ) from error
        coords = np.array(kernel.project(call), dtype=float)
        whole = np.maximum(np.round(coords), 0)
        region = region_of(kernel, points, coords)
        if kernel.kind.reaxis and region == "interior" and (whole != coords).any():
            region = "reaxis"
        found = _probe(kernel, region, tuple(map(int, whole)), call)
        if isinstance(found, str):
            raise ServingSimError(f"{data}: {found}", path=f"probes[{index}]", hint="correct it")
        chosen.take([found], 1)
    return chosen


def region_of(kernel: Kernel, points: FloatArray, coords: FloatArray) -> str:
    """Where coordinates lie in the fit."""
    if (points == coords).all(axis=1).any():
        return "on_grid"
    for column, axis in enumerate(kernel.kind.axes):
        if coords[column] < points[:, column].min():
            return f"below_{axis}"
        if coords[column] > points[:, column].max():
            return f"above_{axis}"
    if _covered(kernel, coords[None, :])[0]:
        return "interior"
    # Inside the axes but past the edge of a ragged grid: the innermost line ends before it.
    return f"above_{kernel.kind.axes[-1]}"


def _side(kernel: Kernel, points: FloatArray, column: int, region: str, chosen: Chosen) -> None:
    """Shapes past one end of an axis, from the cheapest and a middle row at that end."""
    end = points[:, column].max() if region.startswith("above") else points[:, column].min()
    rows = points[points[:, column] == end]
    bases = rows[np.argsort(rows.prod(axis=1), kind="stable")][[0, len(rows) // 2]]
    if region.startswith("above"):
        values = [math.ceil(end * ratio) for ratio in BEYOND]
    else:
        values = [math.floor(end / ratio) for ratio in (*BEYOND, max(end, 1.0))]
    moved = [
        np.where(np.arange(len(base)) == column, value, base)
        for value, base in itertools.product(dict.fromkeys(v for v in values if v != end), bases)
    ]
    if not moved:
        chosen.unreachable[region] = f"nothing lies below {end:g}"
        return
    found = [_probe(kernel, region, tuple(map(int, point))) for point in moved]
    reasons = [each for each in found if isinstance(each, str)]
    if not chosen.take([each for each in found if not isinstance(each, str)], SIDE_PROBES):
        chosen.unreachable[region] = reasons[0] if reasons else "no other shape"


def _spread(points: FloatArray, count: int) -> FloatArray:
    picked: FloatArray = points[np.unique(np.linspace(0, len(points) - 1, count).round().astype(int))]
    return picked


def _boundaries(points: FloatArray, most: int) -> list[FloatArray]:
    """One past each bucket, where the next one is launched, and one below it; for a single axis."""
    values = points[:, 0]
    steps = [value + step for value in values[:-1] for step in (1, -1)]
    off = [np.array([value]) for value in steps if values[0] < value < values[-1] and value not in values]
    return [off[index] for index in np.unique(np.linspace(0, len(off) - 1, most).astype(int))] if off else []


def _between(values: FloatArray) -> list[float]:
    """Geometric middles of cells, then sizes that workloads ask for."""
    cells = [math.sqrt(max(low, 1.0) * high) for low, high in itertools.pairwise(values)]
    return [*cells, *(float(size) for size in WORKLOAD if values[0] < size < values[-1])]


def _inside(kernel: Kernel, points: FloatArray, draw: np.random.Generator, most: int) -> list[dict[str, Any]]:
    """Shapes inside the fit and off it: middles and workload sizes, mixed at random over the axes."""
    axes = [np.unique(column) for column in points.T]
    between = [np.unique(np.round(_between(values))) for values in axes]
    if len(axes) == 1:
        low, high = np.log(np.maximum(axes[0][[0, -1]], 1.0))
        more = np.unique(np.round(np.exp(draw.uniform(low, high, most))))
        named, more = between[0], np.setdiff1d(more, between[0])
        candidates = np.concatenate([draw.permutation(named), draw.permutation(more)])[:, None]
    else:
        mixed = [np.concatenate([inner, inner, values]) for inner, values in zip(between, axes, strict=True)]
        candidates = np.stack([draw.choice(values, DRAWS * most) for values in mixed], axis=1)
    if not len(candidates):
        return []
    off = ~(candidates[:, None, :] == points[None, :, :]).all(axis=2).any(axis=1)
    kept = candidates[off]
    kept = kept[_covered(kernel, kept)] if len(kept) else kept
    return list(_shapes(kernel, "interior", kept))


def _physical(
    kernel: Kernel, points: FloatArray, draw: np.random.Generator, most: int
) -> list[dict[str, Any]]:
    """What an iteration asks of a re-axed kernel: Inputs whose coordinates fall between whole args."""
    axes = [np.unique(column) for column in points.T]
    middles = [np.array(_between(values) or list(values)) for values in axes]
    candidates = np.stack([draw.choice(values, DRAWS * most) for values in middles], axis=1)
    found: list[dict[str, Any]] = []
    for point in candidates[_covered(kernel, candidates)]:
        if len(found) >= most:
            break
        call = _call(kernel, tuple(point))
        if call is None:
            continue
        # The Input rounds: its own coordinates count, and the truth is that of the nearest whole args.
        coords = np.array(kernel.project(call), dtype=float)
        probe = _probe(kernel, "reaxis", tuple(map(int, np.round(coords))), call)
        if not isinstance(probe, str) and region_of(kernel, points, coords) == "interior":
            found.append(probe)
    return found


def _covered(kernel: Kernel, coords: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which coordinates a backend's rows answer without extrapolating."""
    covered = np.zeros(len(coords), dtype=bool)
    work = kernel.kind.work(kernel.config, coords)
    work_ms = np.broadcast_to(kernel.limits.work_ms(work), len(coords)).copy()
    limit_ms = np.broadcast_to(kernel.limits.limit_ms(work), len(coords)).copy()
    for table in kernel.tables:
        time_ms, flags = table.try_eval(np.ascontiguousarray(coords), work_ms, limit_ms)
        covered |= ~np.isnan(time_ms) & (flags == 0)
    return covered


def _shapes(kernel: Kernel, region: str, points: Iterable[FloatArray]) -> Iterator[dict[str, Any]]:
    for point in points:
        found = _probe(kernel, region, tuple(int(value) for value in point))
        if not isinstance(found, str):
            yield found


def _call(kernel: Kernel, point: tuple[float, ...]) -> KernelInput | None:
    try:
        call: KernelInput = kernel.kind.invert(kernel.config, point)
    except ValueError:  # pydantic's refusal of an Input is one
        return None
    return call


def _probe(
    kernel: Kernel, region: str, point: tuple[int, ...], call: KernelInput | None = None
) -> dict[str, Any] | str:
    """A shape as Input, args and coordinates; where none can exist, why."""
    at = ", ".join(f"{axis} {value}" for axis, value in zip(kernel.kind.axes, point, strict=True))
    if not kernel.kind.feasible(kernel.config, point):
        return f"{at} is masked as unreachable"
    stood_for = call is None
    call = call or _call(kernel, point)
    if call is None:
        return f"{at}: the kind's Input refuses it"
    args = dict(kernel.kind.payload(kernel.config, point))
    try:
        args = dict(validate(kind_named(kernel.kind.table), args))
    except ServingSimError as error:
        return f"{at}: {error.what}"
    coords = [float(value) for value in kernel.project(call)]
    if stood_for and not np.allclose(coords, point, rtol=1e-9, atol=0):
        region = (
            "reaxis"  # invert and project disagree: the Input does not ask for the shape that it stands for
        )
    return {"region": region, "input": call.model_dump(mode="json"), "args": args, "coordinates": coords}
