"""Experts' times from how many of them were active: what a batch of tokens costs when it is routed evenly.

The profile times a rank's experts at so many tokens with exactly so many of the experts active. Which are active is
the routing's doing: tokens that choose independently hit local · (1 - (1 - topk/experts)^tokens) of a rank's experts in
expectation. The row of a number of tokens is the profile read there, on a line between the two measured counts.

Where experts are spread over ranks, a rank's kernel gets the tokens of all, with the choices of other ranks' experts
masked: it sorts, activates and sums all of them and multiplies only its own. Two launches of the profile are bounds of
that one, with the same experts active: one of its own share of the tokens (nothing masked) and one of all tokens
(everything multiplied). The row is midway; for Qwen3-30B-A3B on RTX PRO 6000 they are 3 to 6 % apart up to 512 tokens.
Source: vLLM, vllm/model_executor/layers/fused_moe/fused_moe.py, `write_zeros_to_output` (0.10 to 0.24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from profiling.importers.llmservingsim.csv_table import CsvTable
    from profiling.importers.llmservingsim.shape import Shape

    FloatArray = npt.NDArray[np.float64]

EP_SIZES = (1, 2, 4, 8, 16)
"""Ranks that the experts may be spread over. A rank then multiplies its share of the rows with its share of them."""


NEAR = 0.9
"""Of the least number of active experts: fewer than this are no neighbours of it."""


def expert_rows(table: CsvTable, shape: Shape) -> Iterator[tuple[int, int, float]]:
    """`(moe_ep_size, tokens over all ranks, microseconds)`, for every size that the profile reaches."""
    tokens, active, time_us = (
        np.array(table.numbers[name]) for name in ("tokens", "activated_experts", "time_us")
    )
    for ep in EP_SIZES:
        if shape.num_experts % ep or shape.topk % ep:
            continue
        for count in np.unique(tokens):
            routed = int(count * ep)
            hit = shape.num_experts / ep * (1 - (1 - shape.topk / shape.num_experts) ** routed)
            bounds = [_read(active[tokens == size], time_us[tokens == size], hit) for size in (count, routed)]
            if None not in bounds:
                yield ep, routed, float(np.mean([each for each in bounds if each is not None]))


def _read(active: FloatArray, time_us: FloatArray, hit: float) -> float | None:
    """On a line between the two measured numbers of active experts; None beyond them, or where nothing was measured."""
    if len(active) == 0:
        return None
    order = np.argsort(active)
    known, times = active[order], time_us[order]
    if not (NEAR * known[0] <= hit <= known[-1] or np.isclose(hit, known[-1])):
        return None
    return float(np.interp(hit, known, times))
