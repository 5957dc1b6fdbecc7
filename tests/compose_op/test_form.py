"""Atomic or compound, and whether it is one op: decided before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.compose_op.conftest import Bench

PROJ: dict[str, Any] = {
    "slot": "proj",
    "kind": "single_gemm",
    "slot_input": "total_tokens",
    "config": {"hidden_size": "k", "out_features": "n"},
}
EXAMPLE = {"gpu_name": "dev", "hidden_size": 64, "out_features": 128, "dtype": "bf16"}


@pytest.mark.parametrize("form", ["atomic", "decide"])
@pytest.mark.parametrize("mode", ["scaffold", "check"])
def test_inv_2_5_1_one_fitting_kernel_is_one_line_and_no_file(bench: Bench, form: str, mode: str) -> None:
    before = bench.files
    report = bench.norm_proj(form=form, mode=mode, sub_kernels=[PROJ], config_example=EXAMPLE)
    assert (report.status, report.form, report.files) == ("pass", "atomic", [])
    assert report.one_liner == (
        'Op("norm_proj", Kernel.build("norm_proj", SINGLE_GEMM, SingleGemmConfig('
        "gpu_name=gpu_name, dtype=dtype, k=hidden_size, n=out_features), source), TOTAL_TOKENS)"
    )
    assert [(leaf.name, leaf.kind) for leaf in report.leaf_slots] == [("norm_proj", "single_gemm")]
    assert bench.files == before


def test_an_atomic_op_whose_kernel_was_not_built_is_unverified(bench: Bench) -> None:
    """Defect: a pass that rests on the claim alone."""
    report = bench.norm_proj(form="atomic", sub_kernels=[PROJ], config_example={})
    assert report.status == "unverified"


def test_atomic_over_a_kernel_of_other_axes_is_refused(bench: Bench) -> None:
    decode = {"slot": "decode", "kind": "attention_decode", "slot_input": "total_tokens"}
    report = bench.norm_proj(form="atomic", sub_kernels=[decode])
    assert report.status == "fail"
    assert "attention_decode has axes ['batch_size', 'kv_len']" in report.criteria[-1].evidence


def test_atomic_over_two_kernels_is_refused(bench: Bench) -> None:
    assert bench.norm_proj(form="atomic").status == "fail"


def test_compound_over_one_fitting_kernel_is_a_question_and_its_answer_counts(bench: Bench) -> None:
    claim = {"form": "compound", "mode": "scaffold", "sub_kernels": [PROJ], "config_example": EXAMPLE}
    before = bench.files
    asked = bench.norm_proj(**claim)
    assert asked.status == "needs_decision"
    assert [each.id for each in asked.open_decisions] == ["boundary"]
    assert bench.files == before
    assert bench.norm_proj(**claim, decisions={"boundary": "atomic"}).form == "atomic"
    assert bench.norm_proj(**claim, decisions={"boundary": "one_op"}).status == "pass"


def test_kernels_that_share_no_dimension_are_a_question(bench: Bench) -> None:
    """Defect: anything strung together passes as one op on a sentence alone."""
    norm = {
        "slot": "norm",
        "kind": "rms_norm",
        "slot_input": "total_tokens",
        "config": {"width": "hidden_size"},
    }
    report = bench.norm_proj(
        mode="scaffold", sub_kernels=[norm, PROJ], config_example=EXAMPLE | {"width": 32}
    )
    assert report.status == "needs_decision"


def test_a_compound_op_without_a_justification_is_refused(bench: Bench) -> None:
    report = bench.norm_proj(mode="scaffold", justification=" ")
    assert report.status == "fail"
    assert bench.files == bench.files - {"servingsim/ops/norm/norm_proj.py"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "../x"}, "no names"),
        ({"sub_kernels": [PROJ, PROJ]}, "slots named twice"),
        ({"sub_kernels": [PROJ | {"slot": "eval"}]}, "no names"),
        ({"config_example": {"gpu_name": "dev", "x = 1; y": 2}}, "no names"),
        ({"sub_kernels": [PROJ | {"sllot": 1}]}, "no such field"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    bench: Bench, changes: dict[str, Any], message: str
) -> None:
    """Defect: a name that becomes a path or code."""
    before = bench.files
    with pytest.raises(ServingSimError, match=message):
        bench.norm_proj(mode="scaffold", **changes)
    assert bench.files == before


def test_a_kernel_field_that_nothing_fills_is_refused_before_writing(bench: Bench) -> None:
    before = bench.files
    subs = [PROJ | {"config": {"hidden_size": "k"}}, PROJ | {"slot": "other"}]
    with pytest.raises(ServingSimError, match="nothing says what n of single_gemm is"):
        bench.norm_proj(mode="scaffold", sub_kernels=subs)
    assert bench.files == before


def test_a_justification_cannot_end_the_docstring_that_it_is_written_into(bench: Bench) -> None:
    text = 'one state """\nimport os\n"""'
    report = bench.norm_proj(mode="scaffold", justification=text)
    assert report.status == "pass"


def test_a_workspace_folder_that_leads_out_is_refused(bench: Bench) -> None:
    """Defect: a link in the workspace that makes the scaffold write elsewhere."""
    outside = bench.desk.workspace.parent / "outside"
    outside.mkdir()
    (bench.desk.workspace / "servingsim" / "ops").symlink_to(outside)
    with pytest.raises(ServingSimError, match="leads outside"):
        bench.norm_proj(mode="scaffold")
    assert list(outside.iterdir()) == []
