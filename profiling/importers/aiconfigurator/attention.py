"""What the two attention tables share: heads, dtypes, the sliding window, no beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.dtypes import dtype_column

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

NUMBERS = ("batch_size", "isl", "num_heads", "head_dim", "step")
TEXTS = ("attn_dtype", "kv_cache_dtype")
OPTIONAL = {"num_key_value_heads": 0.0, "beam_width": 1.0, "window_size": 0.0}


def shared_args(judge: Judge) -> Args:
    """Args that prefill and decode have in common, in the kinds' order. Heads are those of one rank.

    Older tables say 0 KV heads, or have no such column, where every head has its own.
    """
    judge.refuse(judge.whole("beam_width", least=1) != 1, "beam_width is not 1: beam search is no kind here")
    heads = judge.whole("num_heads", least=1)
    given = judge.whole("num_key_value_heads", least=0)
    kv_heads = np.where(given == 0, heads, given)
    judge.refuse(heads % np.maximum(kv_heads, 1) != 0, "num_heads is no multiple of num_key_value_heads")
    return {
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "head_dim": judge.whole("head_dim", least=1),
        "dtype": dtype_column(judge, "attn_dtype"),
        "kv_dtype": dtype_column(judge, "kv_cache_dtype"),
        "window_size": judge.whole("window_size", least=0),
    }
