"""FLOPs and bytes of one launch of a row, from the work models of the kinds, and of the kernels that are missing."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from functools import cache
from typing import TYPE_CHECKING

import servingsim.timing.work as package
from skills.split_model.missing_work import MISSING
from skills.split_model.schema import RowWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.work.amount import Work
    from skills.split_model.draft import Draft
    from skills.split_model.schema import MapsTo, PhaseShape, Scalar

BALANCE_FLOPS_PER_BYTE = 300.0
"""FLOPs that a current accelerator computes in 16 bits while it reads a byte: orders rows without a capture."""


def row_work(draft: Draft, phase: PhaseShape) -> RowWork:
    """Work of a row in a phase, all its launches in one layer; a fold's is its host's."""
    if not launched(draft, phase):
        return RowWork(flops=0.0, bytes=0.0)
    count = draft.count(phase)
    maps_to = draft.maps_to
    kind = counted_as(maps_to)
    known = maps_to.args if kind == maps_to.kind else _args_of(kind, maps_to.args)
    work = _model(kind)(**_axes(draft, count, phase), **known)
    return RowWork(flops=float(work.flops) * draft.launches, bytes=float(work.bytes_moved) * draft.launches)


def counted_as(maps_to: MapsTo) -> str:
    """The kind whose work model counts: a kernel that an agent proposes has none, what prices it until then has."""
    return maps_to.kind if _modelled(maps_to.kind) else maps_to.until_then


def launched(draft: Draft, phase: PhaseShape) -> bool:
    """Whether a row is a launch of its own in a phase."""
    return draft.verdict != "fold" and draft.count(phase) > 0


def cost(work: RowWork) -> float:
    """Bytes, or the FLOPs that take as long."""
    return max(work.flops / BALANCE_FLOPS_PER_BYTE, work.bytes)


def _axes(draft: Draft, count: float, phase: PhaseShape) -> dict[str, float]:
    """What a kernel's axes are in a phase: requests and lengths of attention and scans, else the row's count."""
    lengths = {
        "batch_size": float(phase.batch),
        "q_len": float(phase.q_len),
        "prefix_len": float(phase.context),
        "kv_len": float(phase.context + 1),
    }
    return {axis: lengths.get(axis, count) for axis in draft.maps_to.axes}


@cache
def _modelled(kind: str) -> bool:
    return kind in MISSING or importlib.util.find_spec(f"{package.__name__}.{kind}") is not None


@cache
def _model(kind: str) -> Callable[..., Work]:
    if kind in MISSING:
        return MISSING[kind]
    model: Callable[..., Work] = importlib.import_module(f"{package.__name__}.{kind}").work
    return model


def _args_of(kind: str, args: dict[str, Scalar]) -> dict[str, Scalar]:
    """Those of a new kernel's args that the kind standing for it takes too."""
    taken = inspect.signature(_model(kind)).parameters
    return {name: value for name, value in args.items() if name in taken}
