"""How deep a check goes: it follows the kernel's share of the iteration's time."""

from __future__ import annotations

from dataclasses import dataclass

MINOR = 0.01
"""Below it an error of the kernel hardly shows in the iteration: no remedy is worth its cost."""
MAJOR = 0.1


@dataclass(frozen=True)
class Depth:
    """What a check may cost.

    Attributes:
        name: quick, standard or deep.
        probes: Shapes at most.
        budget_s: Time for the samples of one shape.
        min_samples: Samples of one shape at least.
    """

    name: str
    probes: int
    budget_s: float
    min_samples: int


QUICK = Depth("quick", 12, 0.05, 5)
STANDARD = Depth("standard", 24, 0.1, 5)
DEEP = Depth("deep", 64, 0.3, 8)


def depth_of(share: float | None) -> Depth:
    """The depth for a share of iteration time; standard where it is not known."""
    if share is None:
        return STANDARD
    if share < MINOR:
        return QUICK
    return DEEP if share >= MAJOR else STANDARD
