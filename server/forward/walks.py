"""Walks through the kernels of a trial's steps, in the order in which a layer launches them.

What lies in the caches when a kernel begins is what the launches before it left there. A kernel that is timed in a loop
by itself finds its own code and its activations warm; after weights that merely stream it finds everything cold. So
kernels are timed as a layer runs them: one grid point of every slot makes a walk. Where some slots have more points
than others, these are walked to from the few slots before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.forward_walks import Stop, WalkedKernel, Walks
from servingsim.ops.pricing import weighted
from servingsim.sim.missing import missing_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from profiling.specs import Spec
    from servingsim.archs.dense import DenseArch
    from servingsim.archs.table_arch import TableArch
    from servingsim.sim.evaluate import Evaluated

    Point = tuple[str, str, Spec]
    """Kind, backend and args."""
    Step = Evaluated[DenseArch | TableArch]

BEFORE = 8
"""Slots that lead to one that is timed without the whole layer: about half a layer's launches."""


@dataclass(frozen=True)
class _Slot:
    """Of a step: what a launch moves, whether every layer has it, and its grid points."""

    own_bytes: int
    in_layers: bool
    points: tuple[Point, ...]

    def point(self, turn: int) -> Point:
        """In a turn; where others have more points, from the first again."""
        return self.points[turn % len(self.points)]


def walks_through(steps: Iterable[Step]) -> Walks:
    """Every grid point that pricing the steps can ask for, timed in the first step that asks for it."""
    known: dict[tuple[object, ...], int] = {}
    kernels: list[WalkedKernel] = []
    orders: list[tuple[Stop, ...]] = []
    for step in steps:
        slots, step_bytes = _from_the_layers_on(_slots(step)), _step_bytes(step)
        for turn in range(max((len(slot.points) for slot in slots), default=0)):
            for in_layers in (True, False):
                new = [
                    slot.in_layers is in_layers
                    and turn < len(slot.points)
                    and _key(slot.points[turn]) not in known
                    for slot in slots
                ]
                walked = [at for at, slot in enumerate(slots) if _leads(slots, at, new, in_layers=in_layers)]
                walk_bytes = sum(slots[at].own_bytes for at in walked)
                fresh: set[tuple[object, ...]] = set()
                for at in walked:
                    point = slots[at].point(turn)
                    if _key(point) not in known:
                        known[_key(point)] = len(kernels)
                        fresh.add(_key(point))
                        kernels.append(WalkedKernel(*point, slots[at].own_bytes, walk_bytes, step_bytes))
                keys = [_key(slots[at].point(turn)) for at in walked]
                if fresh:
                    orders.append(tuple(Stop(known[key], key in fresh) for key in keys))
    return Walks(tuple(kernels), tuple(orders))


def _leads(slots: Sequence[_Slot], at: int, new: Sequence[bool], *, in_layers: bool) -> bool:
    """Whether a slot is timed, or runs a few slots before one that is.

    In the model a layer follows another one: what is launched once an iteration leads to nothing in a layer.
    """
    return (slots[at].in_layers or not in_layers) and any(new[at : at + BEFORE + 1])


def _from_the_layers_on(slots: list[_Slot]) -> list[_Slot]:
    """What an iteration begins with follows what the one before ended with."""
    first = next((at for at, slot in enumerate(slots) if slot.in_layers), 0)
    return slots[first:] + slots[:first]


def _slots(step: Step) -> list[_Slot]:
    """Those that measured rows are read for, in the order of their launches."""
    found = []
    for log, times in zip(step.logs, step.arch.flat.repetitions(), strict=True):
        points = tuple(
            (missing.kind, missing.backend, dict(args))
            for missing in missing_kernels([log])
            for args in missing.specs
        )
        if points:
            moved = weighted(log.points, log.kernel.work(log.points.coords).bytes_moved)
            found.append(_Slot(max(1, int(moved[0])), bool(times > 1), points))
    return found


def _step_bytes(step: Step) -> int:
    times = step.arch.flat.repetitions()
    moved = (
        float(weighted(log.points, log.kernel.work(log.points.coords).bytes_moved)[0]) for log in step.logs
    )
    return max(1, int(sum(each * count for each, count in zip(moved, times, strict=True))))


def _key(point: Point) -> tuple[object, ...]:
    kind, backend, args = point
    return (kind, backend, *args.values())
