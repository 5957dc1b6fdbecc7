"""`gdn_scan`: the gated delta rule over the tokens of a prefill, from the table of all its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.delta import MARK, NUMBERS, OP_NAMES, STEMS, delta_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """`seq_len` tokens of each request are new."""
    return {
        "batch_size": judge.whole("batch_size", least=1),
        "q_len": judge.whole("seq_len", least=1),
        **delta_args(judge),
    }


TABLE = Table(
    name="gdn_scan",
    kind="gated_delta_prefill",
    family="linear_attention",
    stems=STEMS,
    numbers=NUMBERS,
    texts=("kernel_source",),
    operations=frozenset(
        {
            "chunk_gated_delta_rule",
            "chunk_gated_delta_rule_flashinfer",
            "chunk_gated_delta_rule_triton",
        }
    ),
    args=args,
    grows_with=("q_len", "batch_size"),
    operation_column="kernel_source",
    op_names=OP_NAMES,
    mark=MARK,
)
