"""What is right passes: the op that the project ships, and a scaffold as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.tools.compose_op import TOOL
from servingsim.errors import ServingSimError
from skills.report import overall
from skills.watch import Unwatched

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeReport
    from tests.compose_op.conftest import Bench

CODE, TESTS = "servingsim/ops/norm/norm_proj.py", "tests/norm_proj/test_norm_proj.py"


def failing(report: ComposeReport) -> dict[str, str]:
    return {each.id: each.evidence for each in report.criteria if each.status != "pass"}


def test_the_shipped_attention_op_passes_and_is_described(bench: Bench) -> None:
    """Defect: criteria that the project's own reference op does not meet."""
    report = bench.dense()
    assert failing(report) == {}
    assert report.status == "pass"
    assert report.form == "compound"
    assert [(leaf.name, leaf.kind, leaf.slot_input) for leaf in report.leaf_slots] == [
        ("dense.prefill", "attention_prefill", "prefill_requests"),
        ("dense.decode", "attention_decode", "decode_requests"),
    ]
    assert report.slot_inputs == ["decode_requests", "prefill_requests"]
    assert report.input_fields == ["kv_len", "prefix_len", "q_len"]
    assert report.config_fields["kv_dtype"] == "Dtype"
    assert report.worklet_slot == "attention section"
    assert report.files[0] == "servingsim/ops/attention/dense.py"
    assert report.tests is not None
    assert report.tests.exit_code == 0


@pytest.mark.slow
@pytest.mark.long
def test_a_scaffold_over_a_workspace_kernel_passes_unmodified(bench: Bench) -> None:
    """Defect: a template that its own checks refuse, or kernels of the workspace that an op cannot reach."""
    before = bench.files
    report = bench.norm_proj(mode="scaffold")
    assert failing(report) == {}
    assert bench.files - before == {CODE, TESTS}
    assert report.files == [CODE, TESTS]
    assert [(leaf.name, leaf.kind) for leaf in report.leaf_slots] == [
        ("norm_proj.norm", "fused_add_rms_norm"),
        ("norm_proj.proj", "single_gemm"),
    ]
    assert report.tests is not None
    assert (report.tests.exit_code, report.tests.passed) == (0, 4)


@pytest.mark.slow
@pytest.mark.long
def test_repeated_launches_and_widths_survive_the_scaffold(bench: Bench) -> None:
    """Defect: a Scale or a width that is declared and not written, or written and not expected."""
    norms = {"kind": "fused_add_rms_norm", "slot_input": "total_tokens", "width": 8, "launches": 2}
    sampled = {"slot": "head", "kind": "single_gemm", "slot_input": "sampled_positions"}
    sampled["config"] = {"hidden_size": "k", "out_features": "n"}  # type: ignore[assignment]
    report = bench.norm_proj(mode="scaffold", sub_kernels=[{"slot": "norm"} | norms, sampled])
    assert failing(report) == {}


@pytest.mark.slow
@pytest.mark.long
def test_a_scaffold_never_overwrites_unless_asked(bench: Bench) -> None:
    path = bench.scaffolded()[0]
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ServingSimError, match="is there already"):
        bench.norm_proj(mode="scaffold")
    assert path.read_text(encoding="utf-8") == "mine"
    assert bench.norm_proj(mode="scaffold", overwrite=True).status == "pass"


@pytest.mark.slow
@pytest.mark.long
def test_a_recheck_sees_the_file_as_it_stands_now(bench: Bench) -> None:
    """Defect: a report that still counts after its op was changed."""
    report = bench.norm_proj(mode="scaffold")
    assert TOOL.recheck is not None
    assert overall(TOOL.recheck(report, bench.desk, Unwatched())) == "pass"
    path = bench.desk.workspace / CODE
    path.write_text(
        path.read_text(encoding="utf-8").replace("self.norm.name", "self.proj.name"), encoding="utf-8"
    )
    assert overall(TOOL.recheck(report, bench.desk, Unwatched())) == "fail"


def test_checking_what_nobody_wrote_names_the_next_step(bench: Bench) -> None:
    with pytest.raises(ServingSimError, match="no op 'norm_proj'") as caught:
        bench.norm_proj()
    assert caught.value.code == "E_NOT_FOUND"
    assert "scaffold" in caught.value.hint
