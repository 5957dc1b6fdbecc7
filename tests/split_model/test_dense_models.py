"""A dense model becomes a complete table, on either stack."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

from server.tools.split_model import TOOL
from skills.split_model.schema import SplitReport, SplitRequest
from skills.watch import Unwatched
from skills.wire_kernel.schema import WireRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from skills.desk import Desk
    from skills.report import SkillReport

    Split = Callable[..., SplitReport]

FIXTURES = Path(__file__).parents[1] / "fixtures" / "configs"
NO_CAPTURE = {"split.6-granularity", "split.8-captured-complete"}
"""What cannot be seen without a capture."""


def statuses(report: SkillReport) -> dict[str, str]:
    return {each.id: each.status for each in report.criteria}


def config_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return data


def verdicts(report: SplitReport) -> dict[str, str]:
    return {row.op: row.verdict for row in report.rows}


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize("model", ["qwen3-0.6b", "llama-3.1-8b"])
def test_a_bundled_model_is_split_completely(split: Split, model: str, stack: str) -> None:
    """Caught: an operation in no row, a wrong width, a count that no other accountant comes to."""
    report = split(model=model, stack=stack, without_capture=True)
    assert {name for name, status in statuses(report).items() if status != "pass"} == NO_CAPTURE
    assert report.status == "unverified"
    assert [figure.off for figure in report.agreement] == [[], []]
    assert all(figure.accountant and figure.trace for figure in report.agreement)
    assert all(row.measured == "— (no capture)" for row in report.rows)
    assert all(row.fused.startswith("inferred, unverified") for row in report.rows)


def test_the_vllm_table_has_every_verdict_at_the_launches_of_the_stack(split: Split) -> None:
    """Caught: a merged projection split again, a residual priced twice, a RoPE that disappears."""
    assert verdicts(split(model="qwen3-0.6b", without_capture=True)) == {
        "embed.lookup": "elementwise",
        "attention.norm": "new_kernel",
        "attention.qkv_proj": "reuse",
        "attention.q_norm": "reuse",
        "attention.k_norm": "reuse",
        "attention.rope": "elementwise",
        "attention.kv_append": "elementwise",
        "attention.prefill": "reuse",
        "attention.decode": "reuse",
        "attention.o_proj": "reuse",
        "attention.residual_add": "fold",
        "mlp.norm": "new_kernel",
        "mlp.gate_up_proj": "reuse",
        "mlp.silu_mul": "elementwise",
        "mlp.down_proj": "reuse",
        "mlp.residual_add": "fold",
        "head.final_norm": "new_kernel",
        "head.lm_head": "reuse",
    }


def test_rows_hold_one_rank_and_an_anchor(split: Split) -> None:
    """Caught: whole-model widths in a tensor-parallel table."""
    report = split(model="llama-3.1-8b", tp=2, without_capture=True)
    rows = {row.op: row for row in report.rows}
    assert rows["attention.qkv_proj"].maps_to.args == {"n": 3072, "k": 4096, "dtype": "bf16"}
    assert rows["attention.decode"].maps_to.args["num_kv_heads"] == 4
    assert rows["attention.all_reduce"].verdict == "reuse"
    assert rows["head.logits_gather"].maps_to.kind == "all_gather"
    assert "models/llama/modeling_llama.py:" in rows["attention.qkv_proj"].anchor
    assert statuses(report)["split.8-agreement"] == "pass"


def test_hand_offs_are_arguments_of_wire_kernel(split: Split) -> None:
    """Caught: a hand-off that has to be rewritten by hand, or a kind that is handed on once a row."""
    report = split(model="llama-3.1-8b", tp=2, without_capture=True)
    calls = [WireRequest.model_validate(each.call) for each in report.handoffs]
    assert sorted(call.kind for call in calls) == ["fused_add_rms_norm"]
    norm = next(each for each in report.handoffs if each.call["kind"] == "fused_add_rms_norm")
    assert len(norm.rows) == 3
    assert norm.call["handoff"]["args"] == ["num_tokens", "hidden_size", "dtype"]


def test_facts_count_what_the_config_says_and_name_what_it_does_not(split: Split) -> None:
    report = split(model="qwen3-0.6b", without_capture=True)
    facts = report.facts
    assert facts.parameters == {"total": 596049920, "activated": 596049920, "embeddings": 155582464}
    assert [layer.model_dump() for layer in facts.layers] == [
        {"name": "layers", "count": 28, "attention": "GQA", "window": 0, "mlp": "dense"}
    ]
    assert facts.moe == {}
    assert any(name.startswith("kv_cache dtype") for name in facts.unknown)
    assert any(text.startswith("qk_norm") for text in report.reference.differing)


@pytest.mark.long
@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen2_sliding", {"attention.qkv_bias": "fold", "attention.q_bias": "fold"}),
        ("mistral_window", {}),
        ("qwen3_fp8", {"mlp.down_quant": "elementwise"}),
        ("qwen3_wide_heads", {}),
        ("llama_mha", {}),
    ],
)
def test_every_variation_of_the_family_is_complete(
    split: Split, name: str, expected: dict[str, str], stack: str
) -> None:
    """Caught: biases, windows, wide heads or quantised inputs that no row has."""
    phases = [
        {"phase": "prefill", "batch": 2, "q_len": 33, "context": 130},
        {"phase": "decode", "batch": 3, "context": 90},
    ]
    report = split(config=config_of(name), stack=stack, phases=phases, without_capture=True)
    assert {key for key, status in statuses(report).items() if status != "pass"} == NO_CAPTURE
    found = verdicts(report)
    assert {op: found[op] for op in expected if op in found} == {
        op: verdict for op, verdict in expected.items() if op in found
    }
    assert not expected or set(expected) & set(found)


def test_each_layer_class_has_its_own_rows(split: Split) -> None:
    """Caught: sliding layers priced as full ones."""
    report = split(config=config_of("qwen2_sliding"), without_capture=True)
    windows = {
        row.layer_class: row.maps_to.args["window_size"]
        for row in report.rows
        if row.op == "attention.decode"
    }
    assert windows == {each.name: each.window for each in report.facts.layers}
    assert len(windows) == 2


@pytest.mark.long
def test_real_configs_are_split_completely(split: Split, shared_data: Path) -> None:
    """Caught: fields of published configs that a fixture has not."""
    for name in ("Qwen--Qwen3-32B-FP8", "llama-2-7b-hf", "mistral-nemo-instruct-2407"):
        config = json.loads((shared_data / "configs" / f"{name}.json").read_text(encoding="utf-8"))
        found = statuses(split(config=config, without_capture=True))
        assert {key for key, status in found.items() if status != "pass"} == NO_CAPTURE, name


def test_the_tool_is_described_without_torch_or_numpy() -> None:
    """Caught: a server that takes seconds to say which tools it has."""
    code = (
        "import sys, server.tools.split_model as tool; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_trace_that_fails_leaves_its_criteria_unverified(split: Split) -> None:
    """Caught: a table that claims completeness although nothing was traced."""
    config = config_of("llama_tiny") | {"rope_scaling": {"rope_type": "no such type", "factor": 2.0}}
    report = split(config=config, without_capture=True)
    found = statuses(report)
    assert report.trace.failure
    for name in ("split.1-architecture", "split.3-math-trace", "split.8-traced-complete"):
        assert found[name] == "unverified"
    assert report.rows


def test_a_wired_kernel_is_reused(desk: Desk, tmp_path: Path) -> None:
    """Caught: a kernel handed on again after it was wired."""
    workspace = tmp_path / "workspace"
    copytree(FIXTURES.parent / "fused_add_rms_norm", workspace)
    request = SplitRequest(model="qwen3-0.6b", without_capture=True)
    report = TOOL.run(request, replace(desk, workspace=workspace), Unwatched())
    assert isinstance(report, SplitReport)
    assert verdicts(report)["mlp.norm"] == "reuse"
    assert report.handoffs == []
    assert statuses(report)["split.5-measurable"] == "pass"
