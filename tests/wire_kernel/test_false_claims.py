"""A kernel file that says something false is refused by the criterion that it breaks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from server.tool import tool_named
from skills.desk import Desk
from skills.watch import Unwatched

pytest.importorskip("torch")
FIXTURE = Path(__file__).parents[1] / "fixtures" / "fused_add_rms_norm"
KIND = "fused_add_rms_norm"
GRID = [1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
REQUEST: dict[str, Any] = {
    "kind": KIND,
    "mode": "check",
    "handoff": {
        "backends": ["torch"],
        "args": ["num_tokens", "hidden_size", "dtype"],
        "family": "memory",
        "dtype_fields": {"compute": "dtype"},
        "smoke": {"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"},
    },
    "shape": {
        "config": {"hidden_size": 1024, "dtype": "bf16"},
        "config_fields": ["hidden_size", "dtype", "max_num_tokens"],
        "input_fields": ["num_tokens"],
        "axes": ["num_tokens"],
        "grid": {"num_tokens": GRID},
        "cache": "work_nd",
    },
}
FALSE = {
    "payload misses a field": ('"num_tokens", "hidden_size", "dtype")', '"num_tokens", "dtype")', "R.3-payload"),
    "payload adds a field": ('"hidden_size", "dtype")', '"hidden_size", "dtype", "max_num_tokens")', "R.3-payload"),
    "KIND is spelled otherwise": ('kind="fused_add_rms_norm"', 'kind="fused_add_rmsnorm"', "R.3-kind"),
    "grid has 501 coordinates": ("(streamed_tokens(config.max_num_tokens),)", "(tuple(range(1, 502)),)", "R.3-ceiling"),
    "mask hides a reachable cell": ('cache="work_nd",', 'cache="work_nd", feasible=lambda _, c: c[0] != 64,', "R.3-mask"),
    "file crashes": ("KERNEL = KernelKind(", "raise SystemError\nKERNEL = KernelKind(", "R.3-file"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("claim", FALSE)
def test_a_false_claim_is_refused_by_the_rule_that_it_breaks(claim: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(FIXTURE, workspace)
    path = workspace / "servingsim/timing/kernels/fused_add_rms_norm.py"
    old, new, rule = FALSE[claim]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    tool = tool_named("wire_kernel")
    report: Any = tool.run(
        tool.takes.model_validate(REQUEST), Desk(workspace, tmp_path / "x.db", (tmp_path,)), Unwatched()
    )
    assert {each.id: each.status for each in report.criteria}[rule] == "fail"
    assert report.status == "fail"
