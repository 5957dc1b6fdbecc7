"""The kernel contract: what one file in `kernels/` has to define for a kernel kind to exist in the simulator.

Words used everywhere: *args* are the fields that the profiler measures by (= the database key, without backend);
*Config* is the static identity of a kernel in a model, *Input* what varies from iteration to iteration;
*coordinates* are the swept args fields, the axes of the cache. `project` maps Input to coordinates, `invert` maps a
grid coordinate back to the Input that it stands for.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servingsim.timing.relatives import Relatives
    from servingsim.timing.source import ArgValue, FloatArray
    from servingsim.timing.work.amount import Work

MAX_FEASIBLE_COORDINATES = 500
"""R.2: the design ceiling of a cache grid for one resolved Config, after the mask, before backends."""
MAX_GRID_CELLS = 1_000_000
"""A product of axes beyond it is refused unseen: walking it would take longer than the answer is worth."""

Dtype = Literal["fp32", "bf16", "fp16", "fp8", "fp8_block", "int8", "int4", "mxfp4", "nvfp4"]
Count = Annotated[int, Field(ge=1, le=2**40)]
Coords = tuple[float, ...]


@dataclass(frozen=True)
class DtypeTag:
    """Marks a Config field whose dtype decides which backend can run the kernel (R.3: matches BackendSupport)."""

    role: Literal["compute", "kv"]


COMPUTE_DTYPE = DtypeTag("compute")
KV_DTYPE = DtypeTag("kv")


class KernelConfig(BaseModel):
    """Static identity of a kernel in a model. Backends are routing, never part of the args."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpu_name: str = Field(min_length=1, description="device key whose rows are used")
    backends: tuple[str, ...] = Field(
        (), description="candidates, best wins; empty: every backend that has rows"
    )


class KernelInput(BaseModel):
    """What one call of the kernel asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")


C = TypeVar("C", bound=KernelConfig)
I = TypeVar("I", bound=KernelInput)  # noqa: E741 - the contract's own letter for Input


def _always(_config: KernelConfig, _coords: Coords) -> bool:
    return True


@dataclass(frozen=True)
class Reaxis(Generic[C, I]):
    """How an Input whose fields are not the axes becomes coordinates, and back.

    Attributes:
        project: Input to coordinates (floats: a mean may fall between integers).
        invert: A grid coordinate to the Input that it stands for; `project(invert(c)) == c`.
    """

    project: Callable[[C, I], Coords]
    invert: Callable[[C, Coords], I]


@dataclass(frozen=True)
class KernelKind(Generic[C, I]):
    """One kernel kind, as data. What its Config and Input fields are called is what they mean: an args field that is
    no axis is the Config field of that name, an axis the Input field of that name (unless `reaxis` says otherwise).

    Attributes:
        kind: Equal to the profiler's kind, its table and its facade stem.
        config: Model of the static identity.
        input: Model of the runtime query.
        args: The args fields in the profiler's order (= the order of the database key).
        axes: Those of them that are swept, outermost first: the order of coordinates.
        work_model: FLOPs and bytes from the args.
        sweep_grid: Values to profile along each axis.
        cache: Name of the cache kind in `caches/`.
        reaxis: For an Input whose fields are not the axes.
        feasible: False for grid cells that no real shape can reach (the infeasible mask).
        interpolated: Fixed args fields that may be interpolated over where the source has no rows for them.
        carries: Where rows know one value of such a field alone, they are carried over to others by their work.
        relatives: Other Configs that launch the same, whose rows fill in shapes that were not measured.
        profile_kind: Another kind's table, only with identical semantics, args meaning, dtype and callable.
        over_link: The bytes cross the link between ranks, once out and once in: estimates use its bandwidth.
    """

    kind: str
    config: type[C]
    input: type[I]
    args: tuple[str, ...]
    axes: tuple[str, ...]
    work_model: Callable[..., Work]
    sweep_grid: Callable[[C], tuple[tuple[int, ...], ...]]
    cache: str
    reaxis: Reaxis[C, I] | None = None
    feasible: Callable[[C, Coords], bool] = _always
    interpolated: tuple[str, ...] = ()
    carries: bool = False
    relatives: Relatives | None = None
    profile_kind: str | None = None
    over_link: bool = False

    @property
    def table(self) -> str:
        """The profiler's kind whose rows are read."""
        return self.profile_kind or self.kind

    def feasible_coordinates(self, config: C) -> list[tuple[int, ...]]:
        """The grid after the mask; refuses more than 500 points (R.2)."""
        grid = self.sweep_grid(config)
        cells = math.prod(len(values) for values in grid)
        coords = (
            [point for point in itertools.product(*grid) if self.feasible(config, point)]
            if cells <= MAX_GRID_CELLS
            else []
        )
        if cells > MAX_GRID_CELLS or len(coords) > MAX_FEASIBLE_COORDINATES:
            sizes = " x ".join(f"{axis} {len(values)}" for axis, values in zip(self.axes, grid, strict=True))
            counted = f"{len(coords)} feasible coordinates" if coords else f"{cells} cells before the mask"
            raise ServingSimError(
                f"{self.kind}: {counted} ({sizes}) for one Config",
                code="E_LIMIT",
                known=f"the ceiling is {MAX_FEASIBLE_COORDINATES} coordinates after the mask and before backends, "
                f"in at most {MAX_GRID_CELLS} cells",
                hint="drop an axis that does not affect time by itself, mask unreachable shapes, or re-axis",
            )
        return coords

    def fixed(self, config: C) -> dict[str, ArgValue]:
        """The args fields that Config decides."""
        return {name: getattr(config, name) for name in self.args if name not in self.axes}

    def project(self, config: C, call: I) -> Coords:
        """An Input as coordinates."""
        if self.reaxis:
            return self.reaxis.project(config, call)
        return tuple(float(getattr(call, axis)) for axis in self.axes)

    def invert(self, config: C, coords: Coords) -> I:
        """A grid coordinate as the Input that it stands for."""
        if self.reaxis:
            return self.reaxis.invert(config, coords)
        return self.input(**{axis: round(value) for axis, value in zip(self.axes, coords, strict=True)})

    def work(self, config: C, coords: FloatArray) -> Work:
        """Necessary work at coordinates, an array of shape [..., axes]."""
        swept = {axis: coords[..., index] for index, axis in enumerate(self.axes)}
        return self.work_model(**self.fixed(config), **swept)

    def payload(self, config: C, coords: Coords) -> dict[str, ArgValue]:
        """The args of one grid point: exactly the profiler's args fields in order, without backend."""
        swept = {axis: _whole(value) for axis, value in zip(self.axes, coords, strict=True)}
        return {name: swept[name] if name in swept else getattr(config, name) for name in self.args}

    def enumerate(self, config: C, backends: tuple[str, ...] = ()) -> Iterator[dict[str, ArgValue]]:
        """One payload for each feasible grid point and backend, with `backend` beside the args."""
        for coords in self.feasible_coordinates(config):
            for backend in backends or config.backends:
                yield self.payload(config, coords) | {"backend": backend}


def _whole(value: float) -> ArgValue:
    return int(value) if float(value).is_integer() else float(value)
