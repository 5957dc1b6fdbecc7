"""A model whose architecture is a decision table: what the config says of it, and its rows on one rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.archs.model_facts import ModelFacts
    from servingsim.archs.table_rows import LeftOut, TableRow
    from servingsim.timing.contract import Dtype


@dataclass(frozen=True)
class TableModel:
    """What a prediction takes in place of a dense decoder's facts.

    Attributes:
        facts: The whole model.
        rows: One rank's rows, in the order of the forward, both phases.
        stack: The serving stack whose launches they are.
        tp: Ranks that share attention and dense layers.
        ep: Ranks that the experts are spread over.
        kv_dtype: Of the cache.
        absorbs: Whether decode of MLA works on the cached latents; a plain implementation expands them.
        left_out: Rows that no kernel kind prices yet.
        notes: What else the figures leave out or stand in for, in sentences.
    """

    facts: ModelFacts
    rows: tuple[TableRow, ...]
    stack: str
    tp: int
    ep: int
    kv_dtype: Dtype
    absorbs: bool = True
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
