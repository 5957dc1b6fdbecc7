"""In which order kernels are timed beside a model: as they follow one another in its layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiling.specs import Spec


@dataclass(frozen=True)
class WalkedKernel:
    """One kernel, and the bytes that pass the caches with it.

    Attributes:
        kind: The profiler's kind.
        backend: What launches it.
        args: Of the launch.
        own_bytes: That a launch moves.
        walk_bytes: That all launches of the walk move in which it is timed.
        step_bytes: That a step of the model moves.
    """

    kind: str
    backend: str
    args: Spec
    own_bytes: int
    walk_bytes: int
    step_bytes: int


@dataclass(frozen=True)
class Stop:
    """A launch of a walk.

    Attributes:
        kernel: Its index.
        timed: Whether it is timed here; else it runs because it comes before one that is.
    """

    kernel: int
    timed: bool


@dataclass(frozen=True)
class Walks:
    """Kernels, and the orders to run them in; each kernel is timed in one walk."""

    kernels: tuple[WalkedKernel, ...]
    orders: tuple[tuple[Stop, ...], ...]
