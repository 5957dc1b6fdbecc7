"""What the two tables of the short causal convolution share: channels of bf16, read and written once a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.columns import Text

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.columns import IntArray
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

KERNELS = frozenset({"causal_conv1d_fn", "causal_conv1d_update"})
OP = "causal_conv1d"
BF16_BYTES = 2
WIDTH = 4
"""Taps that the kind's operation has."""


def convolution_args(judge: Judge, channels: IntArray) -> Args:
    """Args of the elementwise operation; `channels` are those of one rank.

    It knows tokens only. Rows of several requests with several tokens each are refused: as many tokens in another
    number of requests take up to sixty times as long (TensorRT-LLM on H100), which no median makes one row.
    """
    judge.refuse(judge.whole("d_conv", least=1) != WIDTH, f"d_conv is not {WIDTH}: no operation here")
    requests, tokens = judge.whole("batch_size", least=1), judge.whole("seq_len", least=1)
    judge.refuse(
        (requests > 1) & (tokens > 1), "several requests of several tokens: the operation knows tokens only"
    )
    rows = len(judge.columns)
    return {
        "num_tokens": requests * tokens,
        "op": Text.constant(OP, rows),
        "input_bytes_per_token": np.asarray(channels * BF16_BYTES),
        "output_bytes_per_token": np.asarray(channels * BF16_BYTES),
        "dtype": Text.constant("bf16", rows),
    }
