"""`split_model`: a forward pass as the sequence of kernels that it costs as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.tool import Tool
from skills.split_model.schema import SplitReport, SplitRequest

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch


def run(request: SplitRequest, desk: Desk, watch: Watch) -> SplitReport:
    """Split a model."""
    from skills.split_model.run import run as split  # noqa: PLC0415 - numpy only where it works

    return split(request, desk, watch)


def recheck(report: SplitReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """Split again and compare."""
    from skills.split_model.recheck import recheck as again  # noqa: PLC0415 - as above

    return again(report, desk, watch)


TOOL = Tool(
    name="split_model",
    title="Split a model into kernels",
    description=(
        "Turns a model's forward pass into a decision table: every operation with exactly one home (reuse of a "
        "kernel kind, a new kernel, an elementwise placeholder sized in bytes, or a fold into a host). Use it first, "
        "before wire_kernel. The math is traced from the Transformers implementation on the meta device; the launches "
        "come from the stack's source or from a capture; completeness and totals are checked independently. Covers "
        "decoders of Hugging Face configs (dense, mixture of experts, MLA, hybrids with linear attention or Mamba-2) "
        "on vllm, sglang, trtllm and transformers; what a config does not say is unknown. Its hand-offs are arguments "
        "of wire_kernel, largest share first. Without a capture it needs the user's word. Example: "
        '{"model": "llama-3.1-8b", "stack": "vllm", "tp": 2, "without_capture": true}'
    ),
    takes=SplitRequest,
    gives=SplitReport,
    run=run,
    place="worker",
    skill=True,
    recheck=recheck,
)
