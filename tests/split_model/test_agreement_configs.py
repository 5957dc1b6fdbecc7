"""Genuine models beside the accountant, on every stack, however they are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.archs.hf_config import json_object
from servingsim.errors import ServingSimError
from skills.split_model.agreement_general import agreement_general
from skills.split_model.general import general_model
from skills.split_model.schema import DEFAULT_PHASES, PhaseShape, SplitRequest

if TYPE_CHECKING:
    from pathlib import Path

    from skills.split_model.general import GeneralModel

PHASES = (
    *DEFAULT_PHASES,
    PhaseShape(phase="prefill", batch=2, q_len=512, context=5000),
    PhaseShape(phase="decode", batch=3, q_len=1, context=20000),
)
KINDS = {
    "single_gemm", "rms_norm", "elementwise", "attention_prefill", "attention_decode", "all_reduce", "fused_moe",
    "grouped_gemm",
}  # fmt: skip
SPREADS = ((1, 1), (2, 1), (4, 4), (1, 8))


def spread(config: dict[str, object], name: str, stack: str, tp: int, ep: int) -> GeneralModel | None:
    """A model on ranks; None where its numbers do not divide, or the stack has one rank."""
    try:
        return general_model(SplitRequest(config=config, stack=stack, tp=tp, ep=ep), config, name)
    except ServingSimError:
        return None


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm", "transformers"])
def test_every_figure_of_every_genuine_model_agrees_or_is_named(stack: str, shared_data: Path) -> None:
    """Defect: a family whose table prices other work than its model needs."""
    counted = 0
    for path in sorted((shared_data / "configs").glob("*.json")):
        for tp, ep in SPREADS:
            model = spread(json_object(path), path.name, stack, tp, ep)
            if model is None:
                assert (tp, ep) != (1, 1), path.name
                continue
            figures = agreement_general(model, model.drafts({"prefill", "decode"}, KINDS), PHASES)
            assert [text for each in figures for text in each.off] == [], (path.name, tp, ep)
            counted += 1
    assert counted >= 26
