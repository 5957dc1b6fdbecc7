"""Which rows to measure so that a prediction rests on measurements alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from servingsim.ops.pricing import SlotLog
    from servingsim.timing.source import ArgValue

    Box = tuple[tuple[ArgValue, ...], ...]


@dataclass(frozen=True)
class MissingKernel:
    """Grid points without a row, of one kernel kind and one backend to measure them with.

    Attributes:
        kind: The profiler's kind.
        backend: Backend, empty where the stack names none.
        device: Device key.
        ops: Ops that would read the rows.
        specs: Args of each point, each once.
    """

    kind: str
    backend: str
    device: str
    ops: tuple[str, ...]
    specs: tuple[Mapping[str, ArgValue], ...]

    def sweeps(self) -> list[dict[str, ArgValue | list[ArgValue]]]:
        """The specs as few objects: a list is multiplied out, as `profiling run --spec` reads it."""
        names = list(self.specs[0])
        boxes: list[Box] = [tuple((spec[name],) for name in names) for spec in self.specs]
        for axis in range(len(names)):
            boxes = _merged(boxes, axis)
        return [{name: _swept(values) for name, values in zip(names, box, strict=True)} for box in boxes]


def missing_kernels(logs: Iterable[SlotLog]) -> tuple[MissingKernel, ...]:
    """What the flagged slots lack, by kind and backend: equal shapes of several ops are measured once."""
    found: dict[
        tuple[str, str, str], tuple[list[str], dict[tuple[ArgValue, ...], Mapping[str, ArgValue]]]
    ] = {}
    for log in logs:
        if not log.answer.flags.any():
            continue
        for payload in log.kernel.missing():
            spec = {name: value for name, value in payload.items() if name != "backend"}
            key = (log.kernel.kind.table, str(payload.get("backend", "")), log.kernel.config.gpu_name)
            ops, specs = found.setdefault(key, ([], {}))
            specs.setdefault(tuple(spec.values()), spec)
            if log.name not in ops:
                ops.append(log.name)
    return tuple(
        MissingKernel(*key, ops=tuple(ops), specs=tuple(specs.values()))
        for key, (ops, specs) in found.items()
    )


def _merged(boxes: list[Box], axis: int) -> list[Box]:
    """Boxes that differ along one axis only, as one."""
    groups: dict[tuple[object, ...], dict[ArgValue, None]] = {}
    for box in boxes:
        others = (*box[:axis], *box[axis + 1 :])
        groups.setdefault(others, {}).update(dict.fromkeys(box[axis]))
    return [_box(others, axis, tuple(values)) for others, values in groups.items()]


def _swept(values: tuple[ArgValue, ...]) -> ArgValue | list[ArgValue]:
    return values[0] if len(values) == 1 else list(values)


def _box(others: tuple[object, ...], axis: int, values: tuple[ArgValue, ...]) -> Box:
    return cast("Box", (*others[:axis], values, *others[axis:]))
