"""`fixed_rows`: imports two rows that never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel

from profiling.row import MeasuredRow, Origins, Timing
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.store import Store


class FixedReport(BaseModel):
    """What was imported."""

    inserted: int
    unchanged: int


@dataclass(frozen=True)
class FixedRows:
    """An importer of as many rows as it is asked for."""

    name: str = "fixed_rows"
    help: str = "Import rows that never change."
    options: tuple[click.Option, ...] = field(
        default_factory=lambda: (click.Option(["--count"], type=int, default=2),)
    )

    def run(self, store: Store, **options: Any) -> FixedReport:  # noqa: ANN401 - the importer contract
        """Write the rows."""
        if options["count"] < 1:
            raise ServingSimError(f"--count {options['count']}", known="at least 1")
        origins = Origins(
            "imported", "NVIDIA Test", "lib-1:call", "lib", "1", measured_at="2026-01-01T00:00:00Z"
        )
        rows = [
            MeasuredRow(
                "rms_norm",
                {"num_tokens": tokens + 1, "hidden_size": 64, "dtype": "fp32"},
                Timing(1.0, 1.0, 1.0, float("nan"), 1),
                origins,
            )
            for tokens in range(options["count"])
        ]
        count = store.upsert(rows)
        return FixedReport(inserted=count.inserted, unchanged=count.unchanged)


IMPORTER = FixedRows()
