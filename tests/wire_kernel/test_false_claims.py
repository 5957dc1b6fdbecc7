"""A kernel file that says something false is refused by the criterion that it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skills.desk import Desk
    from skills.wire_kernel.ledger import Ledger

WRONG_INVERSE = """
from servingsim.timing.contract import Reaxis

KERNEL = KernelKind(
    reaxis=Reaxis(
        lambda _, call: (float(call.num_tokens),),
        lambda _, at: FusedAddRmsNormInput(num_tokens=int(at[0]) + 1),
    ),"""
FALSE = {
    "payload misses a field": (
        '"num_tokens", "hidden_size", "dtype")',
        '"num_tokens", "dtype")',
        "R.3-payload",
    ),
    "payload adds a field": (
        '"hidden_size", "dtype")',
        '"hidden_size", "dtype", "max_num_tokens")',
        "R.3-payload",
    ),
    "KIND is spelled otherwise": ('kind="fused_add_rms_norm"', 'kind="fused_add_rmsnorm"', "R.3-kind"),
    "grid has 501 coordinates": (
        "(streamed_tokens(config.max_num_tokens),)",
        "(tuple(range(1, 502)),)",
        "R.3-ceiling",
    ),
    "mask hides a reachable cell": (
        'cache="work_nd",',
        'cache="work_nd", feasible=lambda _, c: c[0] != 64,',
        "R.3-mask",
    ),
    "inverse is shifted": ("\nKERNEL = KernelKind(", WRONG_INVERSE, "R.3-inverse"),
    "work is doubled": ("Work(5 * elements", "Work(10 * elements", "R.3-work"),
    "dtype has no tag": ("Annotated[Dtype, COMPUTE_DTYPE]", "Dtype", "R.3-dtype"),
    "file crashes": ("KERNEL = KernelKind(", "raise SystemError\nKERNEL = KernelKind(", "R.3-file"),
    "file ends the process": (
        "KERNEL = KernelKind(",
        "import os\nos._exit(0)\nKERNEL = KernelKind(",
        "R.3-file",
    ),
}


@pytest.mark.parametrize("claim", FALSE)
def test_a_false_claim_is_refused_by_the_rule_that_it_breaks(
    claim: str,
    desk: Desk,
    wanted: dict[str, Any],
    kernel_file: Callable[[Desk], Path],
    judge: Callable[..., Ledger],
) -> None:
    """Defect: a wrong kernel passes, and the simulator answers from rows of other shapes."""
    old, new, rule = FALSE[claim]
    path = kernel_file(desk)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    ledger = judge(desk, wanted)
    assert ledger.criteria[rule].status == "fail"
    assert ledger.stopped


def test_a_grid_in_two_kinds_of_one_table_is_one_grid(
    desk: Desk,
    wanted: dict[str, Any],
    kernel_file: Callable[[Desk], Path],
    judge: Callable[..., Ledger],
) -> None:
    """Defect: 1000 coordinates are measured because each of two files holds 500."""
    path, grid = kernel_file(desk), "(streamed_tokens(config.max_num_tokens),)"
    text = path.read_text()
    late = text.replace(grid, "(tuple(range(501, 1001)),)").replace(
        'kind="fused_add_rms_norm"', 'kind="fused_add_rms_norm_late", profile_kind="fused_add_rms_norm"'
    )
    path.write_text(text.replace(grid, "(tuple(range(1, 501)),)"))
    path.with_name("fused_add_rms_norm_late.py").write_text(late)
    wanted["shape"]["grid"] = {"num_tokens": list(range(1, 501))}
    wanted["shape"]["config"]["max_num_tokens"] = 500
    split = judge(desk, wanted).criteria["R.3-split"]
    assert split.status == "fail"
    assert "fused_add_rms_norm_late" in split.evidence


def test_a_file_that_loops_for_ever_is_ended(
    desk: Desk,
    wanted: dict[str, Any],
    kernel_file: Callable[[Desk], Path],
    judge: Callable[..., Ledger],
) -> None:
    """Defect: a file that never loads holds the server for ever."""
    path = kernel_file(desk)
    path.write_text(path.read_text() + "\nwhile True:\n    pass\n")
    loads = judge(desk, wanted, timeout_s=3.0).criteria["R.3-file"]
    assert loads.status == "fail"
    assert "took longer" in loads.evidence


def test_the_right_kernel_passes_every_rule_of_the_code(
    desk: Desk, wanted: dict[str, Any], judge: Callable[..., Ledger]
) -> None:
    """Defect: a rule that nothing satisfies stops every kernel."""
    ledger = judge(desk, wanted)
    assert {name: each.evidence for name, each in ledger.criteria.items() if each.status != "pass"} == {}


def test_an_edit_of_the_measured_side_leaves_the_scope(
    desk: Desk, wanted: dict[str, Any], judge: Callable[..., Ledger]
) -> None:
    """Defect: another file is bent to make one kernel pass."""
    path = desk.workspace / "profiling/backends/torch/fused_add_rms_norm.py"
    path.write_text(path.read_text() + "# changed\n")
    scope = judge(desk, wanted).criteria["R.3-scope"]
    assert scope.status == "fail"
    assert "profiling/backends/torch" in scope.evidence
