"""`gdn_step`: one step of the gated delta rule a request, from the table of all its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.delta import MARK, NUMBERS, OP_NAMES, STEMS, delta_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """One token of each request."""
    judge.refuse(judge.whole("seq_len", least=1) != 1, "seq_len is not 1: a decode step makes one token")
    return {"batch_size": judge.whole("batch_size", least=1), **delta_args(judge)}


TABLE = Table(
    name="gdn_step",
    kind="gated_delta_decode",
    family="linear_attention",
    stems=STEMS,
    numbers=NUMBERS,
    texts=("kernel_source",),
    operations=frozenset(
        {
            "fused_recurrent_gated_delta_rule",
            "fused_recurrent_gated_delta_rule_packed_decode",
            "fused_sigmoid_gating_delta_rule_update",
        }
    ),
    args=args,
    grows_with=("batch_size",),
    operation_column="kernel_source",
    op_names=OP_NAMES,
    mark=MARK,
)
