"""Genuine configs against the parameter counts that their makers publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.archs.explore import parameters, read_model

if TYPE_CHECKING:
    from pathlib import Path

# Elements of the language model alone, without towers and prediction layers. Round numbers are the model card's, the
# others the checkpoint's own count.
PUBLISHED = {
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": 31_577_937_344,
    "Qwen--Qwen3-0.6B": 596_049_920,
    "Qwen--Qwen3-235B-A22B": 235_093_634_560,
    "Qwen--Qwen3-30B-A3B": 30_532_122_624,
    "Qwen--Qwen3-32B-FP8": 32_762_123_264,
    "Qwen--Qwen3-32B": 32_762_123_264,
    "Qwen--Qwen3-8B": 8_190_735_360,
    "Qwen--Qwen3-VL-8B-Instruct": 8_190_735_360,
    "Qwen--Qwen3.5-35B-A3B": 34_660_610_688,
    "aicrefs--Qwen--Qwen3-Next-80B-A3B-Thinking": 79_674_391_296,
    "aicrefs--zai-org--GLM-4.7-Flash": 29_943_000_000,
    "deepseek-ai--DeepSeek-V3.2": 671_877_944_064,
    "deepseek-ai--DeepSeek-V3": 671_026_419_200,
    "deepseek-v2-lite": 15_706_484_224,
    "gemma2_9b": 9_241_705_984,
    "google--gemma-4-26B-A4B": 25_200_000_000,
    "llama-2-7b-hf": 6_738_415_616,
    "llama-3.1-8b-instruct": 8_030_261_248,
    "meta-llama--Llama-4-Scout-17B-16E-Instruct": 107_769_630_720,
    "meta-llama--Meta-Llama-3.1-70B": 70_553_706_496,
    "mistral-nemo-instruct-2407": 12_247_782_400,
    "mixtral-8x7b-v0.1": 46_702_792_704,
    "moonshotai--Kimi-K2-Thinking": 1_026_408_232_448,
    "openai--gpt-oss-20b": 20_914_757_184,
    "phi-4": 3_836_021_760,
    "qwen3-30b-a3b": 30_532_122_624,
}

# As the makers count a token's parameters, in billions and to their last digit; `with_embedding` where they add the
# embedding to what our definition counts.
ACTIVATED = {
    "Qwen--Qwen3-30B-A3B": (3.3, True),
    "openai--gpt-oss-20b": (3.6, False),
    "mixtral-8x7b-v0.1": (12.9, True),
    "moonshotai--Kimi-K2-Thinking": (32.9, True),
    "meta-llama--Llama-4-Scout-17B-16E-Instruct": (17.2, True),
    "google--gemma-4-26B-A4B": (3.8, False),
    "deepseek-ai--DeepSeek-V3": (37.5, True),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (3.6, True),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters_agree_with_the_published_count(shared_data: Path, name: str) -> None:
    """Defect: a layer kind, an expert width or tied embeddings read wrongly."""
    total = parameters(read_model(shared_data / "configs" / f"{name}.json")).total
    assert total == pytest.approx(PUBLISHED[name], rel=0.005)


@pytest.mark.parametrize("name", sorted(ACTIVATED))
def test_activated_parameters_agree_with_the_published_ones(shared_data: Path, name: str) -> None:
    """Defect: shared experts or the router left out, or every expert counted."""
    facts = read_model(shared_data / "configs" / f"{name}.json")
    published, with_embedding = ACTIVATED[name]
    counted = parameters(facts).activated + with_embedding * facts.vocab_size * facts.hidden_size
    assert counted / 1e9 == pytest.approx(published, abs=0.06)


def test_every_genuine_config_is_read_with_nothing_unsaid(shared_data: Path) -> None:
    """Defect: a config that is refused, or a published family read as an unknown one."""
    files = sorted((shared_data / "configs").glob("*.json"))
    assert {each.stem for each in files} >= set(PUBLISHED)
    assert {each.stem: read_model(each).unknown for each in files if read_model(each).unknown} == {}
