"""The cost tree of a known model as text: what a stack launches, and in which sizes, changes only on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from servingsim.archs.dense import DenseArch
from servingsim.archs.hf_config import read_facts
from servingsim.archs.models import config_path
from servingsim.archs.stacks.vllm import STACK
from servingsim.timing.source import DeviceSpec, MemorySource
from servingsim.worklets.bounds import IterationBounds
from servingsim.worklets.site import BuildSite

GOLDEN = Path(__file__).parent / "llama-3.1-8b_tp2_vllm.txt"


def test_the_tree_of_llama_on_two_ranks(updating_golden: bool) -> None:  # noqa: FBT001 - a fixture
    """Defect: an op is dropped, doubled, or sized for the wrong rank. UPDATE_GOLDEN=1 accepts a change."""
    device = DeviceSpec("a device", {"bf16": 1e15}, 3e12, 80 * 10**9, link_bytes_per_s=4e11)
    bounds = IterationBounds(max_num_tokens=8192, max_num_seqs=256, max_model_len=8192)
    site = BuildSite("a device", MemorySource({"a device": device}), STACK, "", bounds, "estimate")
    text = DenseArch.build(read_facts(config_path("llama-3.1-8b")), site, tp=2).describe() + "\n"
    if updating_golden:
        GOLDEN.write_text(text, encoding="utf-8")
    if not GOLDEN.exists():
        pytest.fail("no golden file: write it with UPDATE_GOLDEN=1")
    assert text == GOLDEN.read_text(encoding="utf-8")
