"""The store and the model readers of this machine, as processes of a sweep open them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from server.serving.run import models_of

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.timing.source import TimingSource

PIECE_BYTES = 2**20


@dataclass(frozen=True)
class StoreBench:
    """Kernel times from a store.

    Attributes:
        db: Its file.
        identity: Digest of its rows: outcomes of other rows are not reused.
    """

    db: str
    identity: str

    @classmethod
    def of(cls, db: Path) -> StoreBench:
        """The store as it is now."""
        digest = hashlib.sha256()
        with db.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
        return cls(str(db.absolute()), digest.hexdigest()[:16])

    def source(self) -> TimingSource:
        """Open it for reading; it stays open as long as the process."""
        from profiling.source import StoreSource  # noqa: PLC0415 - sqlite only where it is needed
        from server.measuring import open_store  # noqa: PLC0415

        return StoreSource(open_store(Path(self.db), create=False).__enter__())

    def models(self, deployment: Deployment) -> list[DenseFacts | TableModel]:
        """One rank's model for each pool."""
        return models_of(deployment)
