"""`gdn_conv`: the convolution over queries, keys and values before the gated delta rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.delta import MARK, NUMBERS, OP_NAMES, STEMS
from profiling.importers.aiconfigurator.short_convolution import KERNELS, convolution_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """Channels: queries and keys of the key heads, values of the value heads."""
    keys = judge.whole("num_k_heads", least=1) * judge.whole("head_k_dim", least=1)
    values = judge.whole("num_v_heads", least=1) * judge.whole("head_v_dim", least=1)
    return convolution_args(judge, 2 * keys + values)


TABLE = Table(
    name="gdn_conv",
    kind="elementwise",
    family="linear_attention",
    stems=STEMS,
    numbers=(*NUMBERS, "d_conv"),
    texts=("kernel_source",),
    operations=KERNELS,
    args=args,
    grows_with=("num_tokens",),
    operation_column="kernel_source",
    op_names=OP_NAMES,
    mark=MARK,
)
