"""What the two tables of latent attention share: the widths, which the tables leave out.

All rows are of one geometry, DeepSeek-V3's: its source computes their limits with heads of 192 and 128 elements over
latents of 512 + 64. Heads are those of one rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.dtypes import dtype_column

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

NUMBERS = ("batch_size", "isl", "num_heads", "step")
TEXTS = ("mla_dtype", "kv_cache_dtype")
WIDTHS = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}


def latent_args(judge: Judge) -> Args:
    """Args that prefill and decode have in common, in the kinds' order."""
    heads = judge.whole("num_heads", least=1)
    return {
        "num_heads": heads,
        **{name: np.full_like(heads, width) for name, width in WIDTHS.items()},
        "dtype": dtype_column(judge, "mla_dtype"),
        "kv_dtype": dtype_column(judge, "kv_cache_dtype"),
    }
