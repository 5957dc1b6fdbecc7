"""`mla_bmm`: the two products around absorbed latent attention, one weight for each head of the rank.

`mla_gen_pre` brings queries of 128 elements into the latent's 512, `mla_gen_post` brings results back. Every token is
a row of every head, so that the rows of all groups are tokens times heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.dtypes import dtype_column
from profiling.importers.aiconfigurator.latent import WIDTHS
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge

INTO, BACK = "mla_gen_pre", "mla_gen_post"


def args(judge: Judge) -> Args:
    """Output and input widths follow from the direction."""
    heads = judge.whole("num_heads", least=1)
    operation = judge.columns.texts["op_name"]
    into = np.array([name == INTO for name in operation.names])[operation.codes]
    rank = WIDTHS["kv_lora_rank"]
    return {
        "m": judge.whole("num_tokens", least=1) * heads,
        "num_groups": heads,
        "n": np.where(into, rank, WIDTHS["v_head_dim"]),
        "k": np.where(into, WIDTHS["qk_nope_head_dim"], rank),
        "dtype": dtype_column(judge, "bmm_dtype"),
    }


TABLE = Table(
    name="mla_bmm",
    kind="grouped_gemm",
    family="mla_bmm",
    stems=("mla_bmm_perf",),
    numbers=("num_tokens", "num_heads"),
    texts=("bmm_dtype",),
    operations=frozenset({INTO, BACK}),
    args=args,
    grows_with=("m",),
)
