"""Each leaf of a compiled model, tabulated: time, FLOPs, bytes and coverage at every point the loop can touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import OF_GATHERED, OF_POOLED
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.cost_tree.flat import MAX

if TYPE_CHECKING:
    import numpy.typing as npt

    from servingsim.ops.pricing import SlotLog
    from servingsim.sim.pricing.axes import Axes, Extent
    from servingsim.timing.cost_tree import FlatTree, Totals
    from servingsim.timing.engine import Kernel, KernelEval
    from servingsim.timing.source import FloatArray

Family = Literal[
    "tokens", "samples", "prefill_tokens", "context", "prefill_context", "decode", "prefill", "mixed",
    "pooled", "gathered",
]  # fmt: skip
FAMILY_OF: dict[str, Family] = {
    "total_tokens": "tokens",
    "sampled_positions": "samples",
    "prefill_tokens": "prefill_tokens",
    "context_tokens": "context",
    "prefill_context": "prefill_context",
    "decode_tokens": "decode",
    "decode_requests": "decode",
    "decode_queries": "decode",
    "prefill_requests": "prefill",
    "prefill_lengths": "prefill",
    "mixed_requests": "mixed",
    "pooled_tokens": "pooled",
    "gathered_tokens": "gathered",
}
"""The table that a slot input's leaves are in: sizes that the loop knows of every iteration."""
POOLED_ROW: dict[Family, int] = {"pooled": OF_POOLED, "gathered": OF_GATHERED}
"""Of what replicas do together."""
PREFILL_COLUMNS = {"prefill_requests": (0, 1, 2), "prefill_lengths": (0, 1)}


class Arch(Protocol):
    """A compiled model, written by hand or compiled from a table."""

    @property
    def flat(self) -> FlatTree:
        """Its cost tree."""
        ...

    def evaluate(self, batches: Batches, *, logging: bool = False) -> tuple[Totals, tuple[SlotLog, ...]]:
        """Price iterations."""
        ...


@dataclass(frozen=True)
class LeafTable:
    """One leaf on the points of its family; everything times its repetitions in an iteration.

    Attributes:
        name: The leaf, as the model names it.
        kind: Kernel kind.
        kernel: Its kernel.
        family: Which table it is in.
        time_ms: [points of the family].
        flops: Likewise.
        bytes_moved: Likewise.
        flags: Coverage flags.
        answer: What the kernel said where it was asked.
        asked: Which points of the family these are, [points of the family, flat].
    """

    name: str
    kind: str
    kernel: Kernel
    family: Family
    time_ms: FloatArray
    flops: FloatArray
    bytes_moved: FloatArray
    flags: npt.NDArray[np.uint8]
    answer: KernelEval
    asked: npt.NDArray[np.bool_]

    def error_ms(self, weights: FloatArray) -> float:
        """Half width of the time that visits `weights` [points of the family] cost: one kernel is wrong in one way."""
        visited = weights.ravel()[self.asked] > 0
        each_ms = (weights * self.time_ms).ravel()[self.asked][visited]
        return float(each_ms @ self.answer.error_at(visited))

    def picked(self, weights: FloatArray) -> tuple[tuple[int, float], ...]:
        """Backends whose rows priced those visits, by their index, each with its time in ms."""
        each_ms = (weights * self.time_ms).ravel()[self.asked]
        indices = sorted({int(index) for index in self.answer.backend[each_ms > 0]})
        return tuple((index, float(each_ms[self.answer.backend == index].sum())) for index in indices)


def leaf_tables(arch: Arch, extent: Extent, axes: Axes) -> tuple[LeafTable, ...]:
    """Tabulate every leaf.

    Raises:
        ServingSimError: The tree has work side by side (`Max`), whose time is not a sum over leaves; a slot input that
            the loop does not know; a kernel that cannot answer somewhere in the extent.
    """
    if (arch.flat.kind == MAX).any():
        raise ServingSimError(
            "this model has work that runs side by side, which the serving loop cannot add up",
            code="E_LIMIT",
            hint="predict single iterations of it, or build it without overlap",
        )
    logs = logs_of(arch)
    repetitions = arch.flat.repetitions()
    return tuple(
        _leaf_table(log, float(times), extent, axes) for log, times in zip(logs, repetitions, strict=True)
    )


def logs_of(arch: Arch) -> tuple[SlotLog, ...]:
    """Every leaf's kernel and slot input, from one small iteration of both phases."""
    _totals, logs = arch.evaluate(Batches.of([Batch.of(prefill=[(1,)], decode=[1])]), logging=True)
    return logs


def points_of(family: Family, extent: Extent, axes: Axes) -> tuple[int, ...]:
    """Shape of a family's tables."""
    shapes: dict[Family, tuple[int, ...]] = {
        "tokens": (extent.max_tokens + 1,),
        "samples": (extent.max_samples + 1,),
        "prefill_tokens": (extent.max_tokens + 1,),
        "context": (len(axes.context),),
        "prefill_context": (len(axes.context),),
        "decode": (len(axes.batch), len(axes.kv)),
        "prefill": (len(axes.batch), len(axes.chunk), len(axes.prefix)),
        "mixed": tuple(len(each) for each in axes.mixed),
        "pooled": (extent.max_tokens * extent.sharers + 1,),
        "gathered": (extent.max_tokens * extent.sharers + 1,),
    }
    return shapes[family]


def _leaf_table(log: SlotLog, repetitions: float, extent: Extent, axes: Axes) -> LeafTable:
    name = log.points.slot_input.name
    if name not in FAMILY_OF:
        raise ServingSimError(
            f"{log.name}: the serving loop does not know slot input {name!r}",
            code="E_LIMIT",
            known=", ".join(FAMILY_OF),
        )
    family = FAMILY_OF[name]
    shape = points_of(family, extent, axes)
    coords, asked = _coords(name, log.points.width, extent, axes)
    answer, work = log.kernel.eval(coords), log.kernel.work(coords)

    def table(values: Any) -> Any:  # noqa: ANN401 - an array of any dtype
        whole = np.zeros(len(asked), dtype=np.asarray(values).dtype)
        whole[asked] = values
        return whole.reshape(shape)

    return LeafTable(
        name=log.name,
        kind=log.kernel.kind.kind,
        kernel=log.kernel,
        family=family,
        time_ms=table(answer.time_ms * repetitions),
        flops=table(np.broadcast_to(work.flops, len(coords)) * repetitions),
        bytes_moved=table(np.broadcast_to(work.bytes_moved, len(coords)) * repetitions),
        flags=table(answer.flags),
        answer=answer,
        asked=asked,
    )


def _coords(name: str, width: float, extent: Extent, axes: Axes) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Coordinates of the kernel at the points of its family, and which points launch it (a count of 0 does not)."""
    if name in {"context_tokens", "prefill_context"}:
        return axes.context[:, None] * width, np.ones(len(axes.context), dtype=bool)
    if FAMILY_OF[name] == "decode":
        batch, kv = (each.ravel() for each in np.meshgrid(axes.batch, axes.kv, indexing="ij"))
        columns = {
            "decode_tokens": (batch * width,),
            "decode_requests": (batch, kv),
            "decode_queries": (batch, np.ones(len(batch)), kv - 1),
        }[name]
        return np.stack(columns, axis=1), np.ones(len(batch), dtype=bool)
    if FAMILY_OF[name] == "prefill":
        grid = np.meshgrid(axes.batch, axes.chunk, axes.prefix, indexing="ij")
        chosen = [grid[column].ravel() for column in PREFILL_COLUMNS[name]]
        return np.stack(chosen, axis=1), np.ones(len(chosen[0]), dtype=bool)
    if FAMILY_OF[name] == "mixed":
        return _mixed_coords(axes)
    counts = np.arange(points_of(FAMILY_OF[name], extent, axes)[0], dtype=np.float64)
    # Tokens of all replicas together; the kernel's width is for those of one of them.
    each = width / extent.sharers if FAMILY_OF[name] in POOLED_ROW else width
    return counts[1:, None] * each, counts > 0


def _mixed_coords(axes: Axes) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Points where the parts are whole: a prefix with a chunk, lengths with decodes, and one of the two at least."""
    new, prefix, batch, kv = (each.ravel() for each in np.meshgrid(*axes.mixed, indexing="ij"))
    whole = ((new > 0) | (prefix == 0)) & ((batch > 0) == (kv > 0)) & ((new > 0) | (batch > 0))
    return np.stack([new, prefix, batch, kv], axis=1)[whole], whole
