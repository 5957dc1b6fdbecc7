"""Any decoder on any stack of the catalogue: its facts, one rank's part, and its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from servingsim.archs.explore import model_facts
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.rank import rank_of
from skills.split_model.rows.model import model_rows
from skills.split_model.rows.writer import Site

if TYPE_CHECKING:
    from collections.abc import Collection

    from servingsim.archs.model_facts import ModelFacts
    from skills.split_model.catalogue.entry import Catalogue
    from skills.split_model.draft import Draft
    from skills.split_model.rank import Rank
    from skills.split_model.schema import SplitRequest


@dataclass(frozen=True)
class GeneralModel:
    """What is split.

    Attributes:
        config: The config.json, decoded.
        facts: What it says of the whole model.
        rank: One rank's part.
        catalogue: What the stack launches.
    """

    config: dict[str, Any]
    facts: ModelFacts
    rank: Rank
    catalogue: Catalogue

    @property
    def undivided(self) -> GeneralModel:
        """The same on one rank, which is what is traced."""
        whole = rank_of(self.facts, self.catalogue, tp=1, ep=1, kv_dtype=self.rank.kv_dtype)
        return replace(self, rank=whole)

    @property
    def name(self) -> str:
        """Of the stack."""
        return self.catalogue.stack

    def drafts(self, phases: Collection[str], known: Collection[str]) -> list[Draft]:
        """Every row, in the order of the forward.

        Args:
            phases: `prefill`, `decode`: what is asked about.
            known: Kernel kinds that exist.
        """
        return model_rows(Site(self.rank, self.catalogue, known, phases))


def general_model(
    request: SplitRequest, config: dict[str, Any], where: str, hf_quant: dict[str, Any] | None = None
) -> GeneralModel:
    """Read any decoder and divide it.

    Raises:
        ServingSimError: E_INPUT, no decoder that can be split, or a parallelism that does not fit it; E_NOT_FOUND,
            a stack without a catalogue.
    """
    catalogue = catalogue_of(request.stack)
    dtype = None if request.dtype == "auto" else request.dtype
    facts = model_facts(config, where=where, dtype=dtype, hf_quant=hf_quant)
    kv_dtype = facts.kv_dtype if request.kv_dtype == "auto" else request.kv_dtype
    rank = rank_of(facts, catalogue, tp=request.tp, ep=request.ep, kv_dtype=kv_dtype)
    return GeneralModel(config, facts, rank, catalogue)
