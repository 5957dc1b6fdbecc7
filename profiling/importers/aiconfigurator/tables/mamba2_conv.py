"""`mamba2_conv`: the convolution over x, B and C before a Mamba-2 scan. Its tables hold no scan so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.short_convolution import KERNELS, convolution_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """Channels: x of all heads, B and C of all groups, unsharded."""
    inner = judge.whole("nheads", least=1) * judge.whole("head_dim", least=1)
    shared = 2 * judge.whole("n_groups", least=1) * judge.whole("d_state", least=1)
    return convolution_args(judge, inner + shared)


TABLE = Table(
    name="mamba2_conv",
    kind="elementwise",
    family="linear_attention",
    stems=("mamba2_perf",),
    numbers=("batch_size", "seq_len", "nheads", "head_dim", "n_groups", "d_state", "d_conv"),
    texts=("kernel_source",),
    operations=KERNELS,
    args=args,
    grows_with=("num_tokens",),
    operation_column="kernel_source",
    op_names=frozenset({"mamba2"}),
    mark="d_state",
    # Both kernels of both tables may be asked for one width: each table keeps its own rows.
    kernel_prefix="mamba2.",
)
