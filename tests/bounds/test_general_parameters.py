"""The accountant beside the parameters of genuine models, which another room counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.archs.explore import model_facts, parameters
from servingsim.archs.hf_config import json_object
from servingsim.sim.necessary_general import Deployment, necessary_general
from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.archs.model_facts import ModelFacts


def genuine(shared_data: Path) -> dict[str, ModelFacts]:
    """Facts by the file's name."""
    files = sorted((shared_data / "configs").glob("*.json"))
    return {path.name: model_facts(json_object(path), where=path.name) for path in files}


def test_a_token_multiplies_every_activated_parameter_once(shared_data: Path) -> None:
    """Defect: a projection that one of both rooms forgets; norms, biases and convolutions are all that differ."""
    for name, facts in genuine(shared_data).items():
        work = necessary_general(facts, Deployment(), Batch.of(decode=[1]))
        weights = work.flops_of("gemm", "experts") / 2
        assert weights == pytest.approx(parameters(facts).activated, rel=1e-3), name


def test_a_long_prompt_reads_every_linear_weight_of_the_model(shared_data: Path) -> None:
    """Defect: experts, shared experts or a layer class left out of the bytes."""
    for name, facts in genuine(shared_data).items():
        if facts.gemm_dtype != facts.dtype:
            continue
        work = necessary_general(facts, Deployment(), Batch.of([(100_000,)]))
        total = parameters(facts).total - (
            0 if facts.tied_embeddings else facts.vocab_size * facts.hidden_size
        )
        read = work.weight_bytes("gemm", "experts", "conv") / 2
        assert read == pytest.approx(total, rel=1e-3), name
