"""What an engine is, and the choice of one by its name."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.sweep import engines
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from servingsim.sim.sweep.bench import Bench
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.points import Point


@dataclass(frozen=True)
class Engine:
    """Somewhere points run.

    Attributes:
        name: As users name it.
        what: One line for help texts.
        outcomes: Points, bench and the most at once, to outcomes as they come; closing it ends what runs.
    """

    name: str
    what: str
    outcomes: Callable[[Sequence[Point], Bench, int], Generator[Outcome, None, None]]


def engine_names() -> tuple[str, ...]:
    """Every engine: one a file of `engines/`."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(engines.__path__)))


def engine_named(name: str) -> Engine:
    """An engine by its name.

    Raises:
        ServingSimError: There is none of that name.
    """
    names = engine_names()
    if name not in names:
        raise ServingSimError(
            f"no engine {shown(name)}", known=", ".join(names), hint=did_you_mean(name, names)
        )
    found: Engine = importlib.import_module(f"servingsim.sim.sweep.engines.{name}").ENGINE
    return found
