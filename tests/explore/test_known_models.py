"""Models that are widely served, by the sizes on their cards: the count that the card states comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts, parameters

MODELS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "models.json").read_text())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_published_total_comes_out(name: str) -> None:
    """Defect: a field that is read wrongly, or a part of the family that is not counted."""
    facts = model_facts(MODELS[name]["config"], where=name)
    assert parameters(facts).total / 1e9 == pytest.approx(MODELS[name]["total_billions"], rel=0.005)
    assert facts.unknown == ()


def test_the_published_activated_parameters_come_out() -> None:
    """gpt-oss-120b: its card counts as we do, the lm_head but not the embedding."""
    counted = parameters(model_facts(MODELS["gpt-oss-120b"]["config"], where="x"))
    assert counted.activated / 1e9 == pytest.approx(5.13, abs=0.005)
