"""What a process needs to simulate points: kernel times and models, opened where it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.timing.source import TimingSource


class Bench(Protocol):
    """Sent to every process: it pickles, and equal ones hash alike. A path, not what is in the file."""

    def __hash__(self) -> int: ...

    @property
    def identity(self) -> str:
        """Of kernel times and models: outcomes of another one are not reused."""
        ...

    def source(self) -> TimingSource:
        """Open the kernel times; called once a process."""
        ...

    def models(self, deployment: Deployment) -> Sequence[DenseFacts | TableModel]:
        """One rank's model for each pool of a deployment."""
        ...


@lru_cache(maxsize=1)
def opened(bench: Bench) -> TimingSource:
    """The kernel times of a bench, opened once in a process: a store takes longer to open than a point to simulate."""
    return bench.source()
