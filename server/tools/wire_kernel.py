"""`wire_kernel`: a measured kernel into the timing layer, checked criterion by criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.tool import Tool
from skills.wire_kernel.schema import WireReport, WireRequest

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch


def run(request: WireRequest, desk: Desk, watch: Watch) -> WireReport:
    """Check or scaffold."""
    from skills.wire_kernel.run import wire_kernel  # noqa: PLC0415 - numpy only where it works

    return wire_kernel(request, desk, watch)


def recheck(report: WireReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """Look again at what a report says."""
    from skills.wire_kernel.recheck import look_again  # noqa: PLC0415 - as above

    return look_again(report, desk, watch)


TOOL = Tool(
    name="wire_kernel",
    title="Wire a kernel",
    description=(
        "Wires a measured kernel into the simulator: validates the hand-off (R.1), decides the shape within 500 "
        "feasible coordinates (R.2), scaffolds the kernel file and its tests, and checks what stands (R.3). "
        "Checkpoints stop at the first stage that fails. Use it after the profiling side measures (its kind and "
        "backend are listed by `python -m profiling list`), and before compose_op and validate_cache. Example: "
        '{"kind": "fused_add_rms_norm", "mode": "scaffold", "handoff": {"backends": ["torch"], "args": '
        '["num_tokens", "hidden_size", "dtype"], "family": "memory", "dtype_fields": {"compute": "dtype"}, '
        '"smoke": {"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"}}, "shape": {"config": {"hidden_size": '
        '1024, "dtype": "bf16"}, "config_fields": ["hidden_size", "dtype", "max_num_tokens"], "input_fields": '
        '["num_tokens"], "axes": ["num_tokens"], "grid": {"num_tokens": [1, 64, 1024, 16384]}, "cache": '
        '"work_nd", "slot_input": "total_tokens"}}'
    ),
    takes=WireRequest,
    gives=WireReport,
    run=run,
    place="worker",
    writes=True,
    overwrites=True,
    skill=True,
    recheck=recheck,
)
