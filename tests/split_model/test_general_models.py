"""Models beyond the dense family, through the tool: traced, complete both ways, and the rules by their violations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skills.split_model.rows.model import model_rows
from skills.split_model.run import run
from skills.split_model.schema import SplitReport, SplitRequest
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable

    from skills.desk import Desk

    Split = Callable[..., SplitReport]

FAMILIES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "explore" / "families.json").read_text(encoding="utf-8")
)
NO_CAPTURE = {"split.6-granularity", "split.8-captured-complete"}
PHASES = [
    {"phase": "prefill", "batch": 2, "q_len": 40, "context": 24},
    {"phase": "decode", "batch": 3, "context": 50},
]
ROWS = "skills.split_model.general.model_rows"
EVIDENCE = "the fused path of this build, csrc/fused.cu:12"
UNTRACED = {"dbrx"}
"""Transformers itself refuses the class's own config."""


def moe(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - the tool's JSON arguments
    return {"config": FAMILIES["qwen3_moe"], "phases": PHASES, "without_capture": True} | more


def statuses(report: SplitReport) -> dict[str, str]:
    return {each.id: each.status for each in report.criteria}


def evidence(report: SplitReport, identity: str) -> str:
    return next(each.evidence for each in report.criteria if each.id == identity)


def test_routed_experts_are_split_completely(split: Split) -> None:
    """Defect: an operation in no row or in two, FLOPs or bytes that neither the accountant nor the trace counts."""
    report = split(**moe())
    assert {name for name, status in statuses(report).items() if status != "pass"} == NO_CAPTURE
    assert all(figure.accountant and figure.trace and not figure.off for figure in report.agreement)
    verdicts = {row.op: row.verdict for row in report.rows}
    assert verdicts["moe.experts"] == verdicts["moe.topk"] == verdicts["moe.router"] == "reuse"
    assert verdicts["attention.rope"] == verdicts["attention.kv_append"] == "elementwise"
    assert report.facts.moe["experts"] == FAMILIES["qwen3_moe"]["num_experts"]
    anchors = {row.anchor for row in report.rows if row.op == "moe.experts"}
    assert all("modeling_qwen3_moe.py:" in anchor for anchor in anchors)


@pytest.mark.long
@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - UNTRACED))
def test_every_family_is_split_completely(split: Split, family: str, stack: str) -> None:
    """Defect: a family whose operations, parameters or work the table does not have."""
    report = split(config=FAMILIES[family], stack=stack, phases=PHASES, without_capture=True)
    faults = {each.id: each.evidence for each in report.criteria if each.status == "fail"}
    assert faults == {}
    assert statuses(report)["split.8-traced-complete"] == "pass"


@pytest.mark.long
def test_every_real_config_is_split_or_says_what_is_missing(split: Split, shared_data: Path) -> None:
    """Defect: fields of published configs that a small one has not."""
    for file in sorted((shared_data / "configs").glob("*.json")):
        config = json.loads(file.read_text(encoding="utf-8"))
        report = split(config=config, without_capture=True)
        faults = {each.id: each.evidence for each in report.criteria if each.status == "fail"}
        assert faults == {}, file.name
        assert statuses(report)["split.8-agreement"] == "pass", file.name


@pytest.mark.parametrize(
    ("op", "verdict", "maps_to", "reason"),
    [
        ("attention.rope", "fold", "attention.qkv_proj", "no captured kernel"),
        ("attention.kv_append", "fold", "attention.decode", "no captured kernel"),
        ("attention.prefill", "reuse", "single_gemm", "split the fusion"),
        ("moe.experts", "elementwise", "", "kernel of its own"),
        ("moe.experts", "fold", "moe.router", "no epilogue"),
        ("moe.experts", "reuse", "grouped_gemm", "meaning and args"),
        ("moe.topk", "fold", "moe.router", "no epilogue"),
        ("moe.experts", "new_kernel", "experts_chunk_2", "names a layer, rank, chunk"),
        ("attention.rope", "fold", "attention.nothing", "no other row"),
    ],
)
def test_an_override_against_the_rules_is_refused(
    split: Split, op: str, verdict: str, maps_to: str, reason: str
) -> None:
    """Defect: a cost of a routed layer that an agent talks away."""
    override = {"op": op, "verdict": verdict, "maps_to": maps_to, "evidence": EVIDENCE}
    report = split(**moe(overrides=[override]))
    assert statuses(report)["split.4-overrides"] == "fail"
    assert reason in evidence(report, "split.4-overrides")


def test_experts_that_no_row_has_are_seen_by_the_trace(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: a decomposition that forgets the largest cost of a layer."""
    monkeypatch.setattr(ROWS, lambda site: [row for row in model_rows(site) if row.op != "moe.experts"])
    report = run(SplitRequest.model_validate(moe()), desk, Unwatched())
    assert statuses(report)["split.8-traced-complete"] == "fail"
    assert "region.experts" in evidence(report, "split.8-traced-complete")
    assert statuses(report)["split.8-agreement"] == "fail"


def test_a_small_operation_that_no_row_has_gets_a_placeholder_of_its_own(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: a rotation that vanishes because a family's rows do not know it."""
    monkeypatch.setattr(ROWS, lambda site: [row for row in model_rows(site) if row.op != "attention.rope"])
    report = run(SplitRequest.model_validate(moe()), desk, Unwatched())
    found = [row for row in report.rows if row.op.startswith("found.self_attn")]
    assert found
    assert {row.verdict for row in found} == {"elementwise"}
    assert "rows by the trace alone" in evidence(report, "split.8-traced-complete")


def test_a_row_twice_is_seen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: a cost that is counted twice."""
    monkeypatch.setattr(
        ROWS,
        lambda site: [*model_rows(site), *(row for row in model_rows(site) if row.op == "attention.o_proj")],
    )
    report = run(SplitRequest.model_validate(moe()), desk, Unwatched())
    assert statuses(report)["split.8-traced-complete"] == "fail"
    assert "in 2 rows" in evidence(report, "split.8-traced-complete")
    assert statuses(report)["split.4-one-home"] == "fail"


@pytest.mark.long
def test_a_model_that_transformers_does_not_know_stays_unverified(split: Split) -> None:
    """Defect: a table that claims completeness although nothing was traced."""
    config = FAMILIES["qwen3_moe"] | {"model_type": "house_moe", "architectures": ["HouseMoeForCausalLM"]}
    report = split(config=config, phases=PHASES, without_capture=True)
    found = statuses(report)
    assert "house_moe" in report.trace.failure
    for name in ("split.1-architecture", "split.3-math-trace", "split.8-traced-complete"):
        assert found[name] == "unverified"
    assert found["split.8-agreement"] == "pass"
    assert report.status == "unverified"


def test_a_folder_with_its_own_quantisation_file_is_read_with_it(split: Split, root: Path) -> None:
    """Defect: weights priced in 16 bits that the checkpoint holds in 8."""
    folder = root / "quantised"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(FAMILIES["qwen3_moe"]), encoding="utf-8")
    quantisation = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    (folder / "hf_quant_config.json").write_text(json.dumps(quantisation), encoding="utf-8")
    report = split(model="quantised", phases=PHASES, without_capture=True)
    dtypes = {row.op: row.maps_to.args.get("dtype") for row in report.rows}
    assert str(dtypes["moe.experts"]).startswith("fp8")
    assert dtypes["head.lm_head"] == "bf16"
