"""Kernels of each phase, summed; devices and steps told from the same columns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from profiling.captures.capture import KINDS, Device, KernelTotal, LaunchKind, Step
from profiling.captures.categories import category_of
from profiling.captures.gaps import busy_and_wall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from profiling.captures.contract import Phase, Summary
    from profiling.captures.launches import Launches
    from profiling.captures.steps import Range

PHASES: tuple[Phase, ...] = ("prefill", "decode", "mixed", "unknown")


def kernel_totals(launches: Launches, phase: NDArray[np.uint8]) -> list[KernelTotal]:
    """Every kernel of every phase, the largest first.

    Args:
        launches: All of them.
        phase: Of each launch, an index into PHASES.
    """
    if not len(launches):
        return []
    sound = launches.broken == 0
    key = (phase.astype(np.int64) * len(KINDS) + launches.kind) * len(launches.names) + launches.name
    groups, group = np.unique(key, return_inverse=True)
    counted = np.where(sound, launches.duration_ns, 0)
    total = np.zeros(len(groups), np.int64)
    np.add.at(total, group, counted)
    calls = np.bincount(group[sound], minlength=len(groups))
    broken = np.bincount(group[~sound], minlength=len(groups))
    replayed = np.bincount(group, launches.graph, minlength=len(groups))
    usual = _usual(group, launches)
    of_phase = [int(counted[phase == index].sum()) for index in range(len(PHASES))]
    found = []
    for at, whole in enumerate(groups):
        rest, name = divmod(int(whole), len(launches.names))
        index, kind = divmod(rest, len(KINDS))
        text, cpu_op = launches.names[name], launches.cpu_ops[launches.cpu_op[usual[at]]]
        category, confidence = category_of(text, cpu_op)
        found.append(
            KernelTotal(
                name=text,
                phase=PHASES[index],
                kind=KINDS[kind],
                calls=int(calls[at]),
                total_ns=int(total[at]),
                share=int(total[at]) / of_phase[index] if of_phase[index] else 0.0,
                category=category,
                confidence=confidence,
                cpu_op=cpu_op,
                shapes=launches.shape_texts[launches.shapes[usual[at]]],
                broken=int(broken[at]),
                graph=bool(2 * replayed[at] > calls[at] + broken[at]),
            )
        )
    return sorted(found, key=lambda each: (-each.total_ns, each.phase, each.name))


def _usual(group: NDArray[np.intp], launches: Launches) -> NDArray[np.intp]:
    """A launch of each group whose host operation and shapes are the most frequent ones in it."""
    kinds = (group * len(launches.cpu_ops) + launches.cpu_op) * len(launches.shape_texts) + launches.shapes
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    order = np.lexsort((-counts, group[first]))
    _, best = np.unique(group[first][order], return_index=True)
    return np.asarray(first[order][best], np.intp)


def summary_totals(summaries: Sequence[Summary]) -> list[KernelTotal]:
    """Totals of a file that holds nothing else; its lines are kept apart, whatever their names."""
    sums = {phase: sum(each.total_ns for each in summaries if each.phase == phase) for phase in PHASES}
    found = []
    for each in summaries:
        category, confidence = category_of(each.name)
        share = each.total_ns / sums[each.phase] if sums[each.phase] else 0.0
        kind: LaunchKind = (
            "memcpy" if category == "memcpy" else "memset" if category == "memset" else "kernel"
        )
        found.append(
            KernelTotal(each.name, each.phase, kind, each.calls, each.total_ns, share, category, confidence)
        )
    return sorted(found, key=lambda each: -each.total_ns)


def device_totals(launches: Launches, names: Mapping[int, str]) -> list[Device]:
    """What ran where."""
    indices = [int(each) for each in np.unique(launches.device)]
    counted = np.where(launches.broken == 0, launches.duration_ns, 0)
    whole = int(counted.sum())
    found = []
    for index in indices:
        mine = launches.device == index
        busy = int(counted[mine].sum())
        found.append(
            Device(index, names.get(index, ""), int(mine.sum()), busy, busy / whole if whole else 0.0)
        )
    return found


def step_totals(launches: Launches, ranges: Sequence[Range]) -> list[Step]:
    """Figures of each step; its wall is that of the device where it is longest."""
    order = np.lexsort((launches.start_ns, launches.device, launches.step))
    steps, devices = launches.step[order], launches.device[order]
    changes = np.flatnonzero((np.diff(steps) != 0) | (np.diff(devices) != 0)) + 1
    bounds = [0, *changes.tolist(), len(order)] if len(order) else [0]
    kept: dict[int, list[NDArray[np.intp]]] = {}
    for begin, end in itertools.pairwise(bounds):
        kept.setdefault(int(steps[begin]), []).append(order[begin:end])
    return [_step(index, each, kept.get(index, []), launches) for index, each in enumerate(ranges)]


def _step(index: int, each: Range, by_device: list[NDArray[np.intp]], launches: Launches) -> Step:
    busy, wall, kernel, count, bad = 0, 0, 0, 0, 0
    first = min((int(launches.start_ns[places[0]]) for places in by_device), default=each.mark.start_ns)
    for places in by_device:
        sound = places[launches.broken[places] == 0]
        starts, durations = launches.start_ns[sound], launches.duration_ns[sound]
        own_busy, own_wall = busy_and_wall(starts, starts + durations)
        if own_wall > wall:
            busy, wall = own_busy, own_wall
        kernel += int(durations.sum())
        count += len(places)
        bad += len(places) - len(sound)
    return Step(
        index=index,
        phase=each.says.phase,
        name=each.mark.name,
        tokens=each.says.tokens,
        context_requests=each.says.context_requests,
        generation_requests=each.says.generation_requests,
        launches=count,
        start_ns=first,
        wall_ns=wall,
        busy_ns=busy,
        kernel_ns=kernel,
        broken=bad,
    )
