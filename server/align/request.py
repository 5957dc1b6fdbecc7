"""What is aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.timing.contract import Dtype


@dataclass(frozen=True)
class AlignRequest:
    """Files, model and where kernel times come from.

    Attributes:
        model: A config.json, its folder, or a bundled name.
        log: The iteration log.
        capture: A profile of the engine; None: only with a store.
        stack: The engine.
        tp: Ranks.
        device: Device key of the store; None: kernels come from the capture.
        stack_version: Version whose imported rows are used.
        dtype: In place of the config's.
        kv_dtype: Of the cache.
        fit_on: Run that the host's part is fitted on; None: the first.
    """

    model: str
    log: Path
    capture: Path | None = None
    stack: str = "vllm"
    tp: int = 1
    device: str | None = None
    stack_version: str | None = None
    dtype: Dtype | None = None
    kv_dtype: Dtype | None = None
    fit_on: str | None = None
