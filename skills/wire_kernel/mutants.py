"""Wrong kernels made from a right one: a test that lets all of them pass asserts nothing."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from servingsim.timing.contract import KernelKind, Reaxis

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = KernelKind[Any, Any]


def _payload(kind: Kind) -> Kind:
    return dataclasses.replace(kind, args=tuple(n for n in kind.args if n in kind.axes) or kind.args[:-1])


def _extra(kind: Kind) -> Kind:
    return dataclasses.replace(kind, args=(*kind.args, "gpu_name"))


def _project(kind: Kind) -> Kind:
    shifted = Reaxis[Any, Any](lambda c, i: tuple(x + 1 for x in kind.project(c, i)), kind.invert)
    return dataclasses.replace(kind, reaxis=shifted)


def _invert(kind: Kind) -> Kind:
    shifted = Reaxis[Any, Any](kind.project, lambda c, x: kind.invert(c, tuple(2 * each + 1 for each in x)))
    return dataclasses.replace(kind, reaxis=shifted)


def _grid(kind: Kind) -> Kind:
    return dataclasses.replace(
        kind, sweep_grid=lambda c: tuple(v[1:-1] or (v[0] + 1,) for v in kind.sweep_grid(c))
    )


def _cache(kind: Kind) -> Kind:
    return dataclasses.replace(kind, cache="another")


MUTANTS: dict[str, Callable[[Kind], Kind]] = {
    "payload misses fields": _payload,
    "payload adds a field": _extra,
    "projection shifted": _project,
    "inverse shifted": _invert,
    "grid cut": _grid,
    "cache replaced": _cache,
}
