"""The shape as it was agreed: axis values, mask and projections, evaluated without the kernel's code."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.timing.grid import up_to
from skills.wire_kernel.expressions import Expression, expression

if TYPE_CHECKING:
    from skills.wire_kernel.schema import Shape

MAX_CELLS = 1_000_000
MAX_VALUES = 10_000
UNBOUNDED = 2**62
"""What a bound of Config is raised to, to see whether it is what hides a cell."""


@dataclass(frozen=True)
class Agreed:
    """A shape, resolved for its representative Config.

    Attributes:
        axes: Swept args.
        values: Of each axis, cut at the Config's `max_<axis>`.
        config: The representative Config, bounds filled in.
        mask: True where a cell can occur; None without one.
        project: Axis from Input and Config fields.
        invert: Input field from axes and Config fields.
    """

    axes: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    config: dict[str, Any]
    mask: Expression | None
    project: dict[str, Expression]
    invert: dict[str, Expression]

    @property
    def cells(self) -> int:
        """Before the mask."""
        return math.prod(len(values) for values in self.values)

    def feasible(self, cell: tuple[float, ...], **instead: object) -> bool:
        """Whether a cell can occur; `instead` replaces Config values."""
        if self.mask is None:
            return True
        return bool(self.mask.value(self.config | instead | dict(zip(self.axes, cell, strict=True))))

    def feasible_cells(self) -> list[tuple[int, ...]]:
        """The grid after the mask; empty where there are too many cells to walk."""
        if self.cells > MAX_CELLS:
            return []
        return [cell for cell in itertools.product(*self.values) if self.feasible(cell)]

    def hidden_by_bound(self, cell: tuple[float, ...]) -> bool:
        """Whether nothing but the Config's own bounds hides a cell: with them raised it occurs."""
        if self.mask is None:
            return False
        bounds = {name: UNBOUNDED for name in self.mask.names if name.startswith("max_")}
        return bool(bounds) and self.feasible(cell, **bounds)

    def upper(self) -> bool:
        """Whether the mask hides large cells only: all that is beyond a hidden cell is hidden too."""
        shown = self.feasible_cells()
        least = set(shown)
        for cell in shown:
            for index, value in enumerate(cell):
                place = self.values[index].index(value)
                if place:
                    below = (*cell[:index], self.values[index][place - 1], *cell[index + 1 :])
                    if below not in least:
                        return False
        return True


def agreed(shape: Shape) -> Agreed:
    """Resolve a shape.

    Raises:
        ServingSimError: E_INPUT, an axis without values, values that no axis can have, an expression that is none.
    """
    strange = sorted(set(shape.grid) ^ set(shape.axes))
    if strange or not shape.axes:
        raise ServingSimError(
            f"grid and axes differ in {', '.join(strange) or 'everything: both are empty'}",
            path="shape.grid",
            known=f"axes {', '.join(shape.axes) or 'none'}",
            hint="give the values of every axis, and of nothing else",
        )
    config: dict[str, Any] = dict(shape.config)
    for axis, values in shape.grid.items():
        if not values or len(values) > MAX_VALUES or min(values) < 0 or max(values) >= 2**40:
            raise ServingSimError(
                f"{len(values)} values of {axis}",
                path=f"shape.grid.{axis}",
                known=f"1 to {MAX_VALUES} whole numbers from 0 to 2**40",
            )
        if f"max_{axis}" in shape.config_fields:
            config.setdefault(f"max_{axis}", max(values))
    axes, fields, inputs = shape.axes, shape.config_fields, shape.input_fields
    numbers = [name for name in fields if name in config]
    mask = expression(shape.mask, [*axes, *numbers], where="shape.mask") if shape.mask.strip() else None
    return Agreed(
        tuple(axes),
        tuple(_axis(sorted(set(shape.grid[axis])), config.get(f"max_{axis}"), axis) for axis in axes),
        config,
        mask,
        {axis: expression(text, [*inputs, *numbers], where=f"shape.project.{axis}")
         for axis, text in shape.project.items()},
        {name: expression(text, [*axes, *numbers], where=f"shape.invert.{name}")
         for name, text in shape.invert.items()},
    )  # fmt: skip


def _axis(values: list[int], maximum: object, axis: str) -> tuple[int, ...]:
    if maximum is None:
        return tuple(values)
    if not isinstance(maximum, int):
        raise ServingSimError(
            f"max_{axis} is {maximum!r}", path=f"shape.config.max_{axis}", known="a whole number"
        )
    return up_to(maximum, values)
