"""`compose_op`: kernels that exist made into one operation of a model, or its form decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.tool import Tool
from skills.compose_op.schema import ComposeOpIn, ComposeReport

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch


def _run(request: ComposeOpIn, desk: Desk, watch: Watch) -> ComposeReport:
    from skills.compose_op.run import run  # noqa: PLC0415 - schemas are listed without it

    return run(request, desk, watch)


def _recheck(report: ComposeReport, desk: Desk, watch: Watch) -> list[Criterion]:
    from skills.compose_op.recheck import recheck  # noqa: PLC0415 - as above

    return recheck(report, desk, watch)


TOOL = Tool(
    name="compose_op",
    title="Compose one operation",
    description=(
        "Makes kernels that exist already into one operation of a model: reports the one line of an atomic op, or "
        "scaffolds and checks a compound op in the workspace. Use it after wire_kernel, before a worklet uses the op. "
        "form decide: one kernel whose axes the slot input gives is atomic, everything else compound. mode scaffold "
        "writes servingsim/ops/<family>/<name>.py and its tests; mode check judges what stands there (leaf count, "
        "slot order, aggregate, parallel-agnostic Config, pure helpers, tests) in a process of its own, on synthetic "
        'rows, without a device. Example: {"family": "norm", "name": "norm_proj", "mode": "scaffold", "sub_kernels": '
        '[{"slot": "norm", "kind": "rms_norm", "slot_input": "total_tokens"}, {"slot": "proj", "kind": "single_gemm", '
        '"slot_input": "total_tokens", "config": {"hidden_size": "k", "out_features": "n"}}], "justification": "the '
        'projection reads the normalised rows", "config_example": {"gpu_name": "dev", "hidden_size": 64, '
        '"out_features": 128, "dtype": "bf16"}}'
    ),
    takes=ComposeOpIn,
    gives=ComposeReport,
    run=_run,
    place="worker",
    writes=True,
    overwrites=True,
    skill=True,
    recheck=_recheck,
)
