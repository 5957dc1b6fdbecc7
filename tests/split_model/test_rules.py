"""The rules of the table: what an agent may say, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError
from skills.split_model.dense_table import dense_drafts
from skills.split_model.draft import match
from skills.split_model.run import run
from skills.split_model.schema import SplitReport, SplitRequest
from skills.watch import Unwatched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skills.desk import Desk

    Split = Callable[..., SplitReport]

EVIDENCE = "the fused path of this build, csrc/fused.cu:12"
MODEL = {"model": "qwen3-0.6b", "without_capture": True}


def overridden(split: Split, op: str, verdict: str, maps_to: str = "", **more: Any) -> SplitReport:  # noqa: ANN401 - JSON
    override = {"op": op, "verdict": verdict, "maps_to": maps_to, "evidence": more.pop("evidence", EVIDENCE)}
    return split(**(MODEL | more), overrides=[override])


def refusal(report: SplitReport) -> str:
    found = next(each for each in report.criteria if each.id == "split.4-overrides")
    return found.evidence if found.status == "fail" else ""


def verdict_of(report: SplitReport, op: str) -> str:
    return next(row.verdict for row in report.rows if row.op == op)


@pytest.mark.parametrize(
    ("op", "verdict", "maps_to", "reason"),
    [
        ("attention.rope", "fold", "attention.decode", "no captured kernel"),
        ("attention.kv_append", "fold", "attention.qkv_proj", "no captured kernel"),
        ("attention.q_norm", "fold", "attention.qkv_proj", "no captured kernel"),
        ("mlp.silu_mul", "fold", "mlp.gate_up_proj", "no captured kernel"),
        ("attention.decode", "reuse", "single_gemm", "split the fusion"),
        ("attention.decode", "fold", "attention.o_proj", "no epilogue"),
        ("mlp.down_proj", "elementwise", "", "kernel of its own"),
        ("mlp.norm", "reuse", "rms_norm", "meaning and args"),
        ("attention.qkv_proj", "reuse", "grouped_gemm", "meaning and args"),
        ("mlp.silu_mul", "new_kernel", "silu_layer_07", "names a layer"),
        ("mlp.silu_mul", "new_kernel", "elementwise", "reuse it"),
        ("mlp.silu_mul", "fold", "attention.rope", "no heavy kernel"),
    ],
)
def test_an_override_against_the_rules_is_refused_and_not_applied(
    split: Split, op: str, verdict: str, maps_to: str, reason: str
) -> None:
    """Caught: a cost that an agent talks away."""
    report = overridden(split, op, verdict, maps_to)
    assert reason in refusal(report)
    assert report.status == "fail"
    assert verdict_of(report, op) == verdict_of(split(**MODEL), op)


@pytest.mark.parametrize(
    ("op", "verdict", "maps_to"),
    [
        ("attention.residual_add", "elementwise", ""),
        ("mlp.residual_add", "fold", "mlp.down_proj"),
        ("attention.rope", "new_kernel", "fused_rope_cache"),
    ],
)
def test_an_override_with_evidence_that_keeps_the_rules_is_applied(
    split: Split, op: str, verdict: str, maps_to: str
) -> None:
    report = overridden(split, op, verdict, maps_to)
    assert refusal(report) == ""
    row = next(row for row in report.rows if row.op == op)
    assert row.verdict == verdict
    assert EVIDENCE in row.fused


def test_a_fold_becomes_a_placeholder_of_its_own_bytes(split: Split) -> None:
    report = overridden(split, "attention.residual_add", "elementwise")
    maps_to = next(row.maps_to for row in report.rows if row.op == "attention.residual_add")
    assert maps_to.args["input_bytes_per_token"] == 2 * 1024 * 2
    assert maps_to.args["output_bytes_per_token"] == 1024 * 2


def test_rope_folds_where_a_captured_kernel_does_both(split: Split, root: Path) -> None:
    """Caught: a rule so strict that a measured fusion cannot be told."""
    name = "fused_qk_norm_rope_kernel"
    kernels = [{"name": name, "calls": 28, "total_ns": 1000}]
    (root / "fusing.json").write_text(json.dumps(kernels), encoding="utf-8")
    report = overridden(
        split, "attention.rope", "fold", "attention.q_norm", capture="fusing.json", evidence=f"{name} in it"
    )
    assert refusal(report) == ""
    assert verdict_of(report, "attention.rope") == "fold"


def test_an_override_of_no_row_is_refused_with_the_rows(split: Split) -> None:
    with pytest.raises(ServingSimError, match=r"no row 'attention\.ropes'") as caught:
        overridden(split, "attention.ropes", "elementwise")
    assert "attention.rope" in caught.value.hint


def test_without_a_capture_the_user_has_to_say_so(split: Split) -> None:
    """Caught: a table that looks final although nobody agreed to go without a measurement."""
    asked = split(model="qwen3-0.6b")
    assert asked.status == "needs_decision"
    assert [each.id for each in asked.open_decisions] == ["without_capture"]
    answered = split(model="qwen3-0.6b", decisions={"without_capture": "yes"})
    assert answered.status == "unverified"
    assert answered.open_decisions == []
    assert split(model="qwen3-0.6b", decisions={"without_capture": "no"}).status == "fail"


def test_a_dropped_row_is_seen_by_the_trace(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: a decomposition that forgets an operation."""
    from skills.split_model import ways as module  # noqa: PLC0415 - patched here alone

    def without_rope(*given: Any) -> Any:  # noqa: ANN401 - the function's own types
        return [draft for draft in dense_drafts(*given) if draft.op != "attention.rope"]

    monkeypatch.setattr(module, "dense_drafts", without_rope)
    report = run(SplitRequest.model_validate(MODEL), desk, Unwatched())
    found = next(each for each in report.criteria if each.id == "split.8-traced-complete")
    assert found.status == "fail"
    assert "in 0 rows" in found.evidence
    assert "modeling_qwen3.py" in found.evidence


def test_an_operation_in_two_rows_is_seen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: a cost that is counted twice."""
    from skills.split_model import run as module  # noqa: PLC0415

    def doubled(drafts: Any, *given: Any) -> Any:  # noqa: ANN401
        return match([*drafts, drafts[1]], *given)

    monkeypatch.setattr(module, "match", doubled)
    report = run(SplitRequest.model_validate(MODEL), desk, Unwatched())
    found = next(each for each in report.criteria if each.id == "split.8-traced-complete")
    assert (found.status, "in 2 rows" in found.evidence) == ("fail", True)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({}, "E_INPUT", "neither was given"),
        ({"model": "qwen3-0.6b", "config": {"model_type": "llama"}}, "E_INPUT", "both was given"),
        ({"model": "qwen9"}, "E_NOT_FOUND", "no model 'qwen9'"),
        ({"model": "../../etc/passwd"}, "E_PATH", "leads outside"),
        ({"model": "qwen3-0.6b", "pp": 2}, "E_INPUT", "pp 2"),
        ({"model": "qwen3-0.6b", "ep": 2}, "E_INPUT", "no experts"),
        ({"model": "qwen3-0.6b", "tp": 3}, "E_INPUT", "cannot be divided"),
        ({"model": "qwen3-0.6b", "phases": [{"phase": "decode", "q_len": 2}]}, "E_INPUT", "q_len 2"),
        ({"model": "qwen3-0.6b", "capture": "absent.csv"}, "E_NOT_FOUND", "absent.csv"),
        ({"config": {"model_type": "mixtral", "num_local_experts": 8}}, "E_INPUT", "num_hidden_layers"),
        ({"config": {"model_type": "bert", "hidden_size": 64}}, "E_INPUT", "bert"),
    ],
)
def test_what_cannot_be_split_is_refused_with_the_reason(
    split: Split, arguments: dict[str, Any], code: str, text: str
) -> None:
    with pytest.raises(ServingSimError) as caught:
        split(**arguments)
    assert caught.value.code == code
    assert text in str(caught.value)
