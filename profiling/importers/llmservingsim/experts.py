"""Experts' times from how many of them were active: what a batch of tokens costs when it is routed evenly.

The profile times a rank's experts at so many tokens with exactly so many of the experts active. Which are active is
the routing's doing: tokens that choose independently hit local · (1 - (1 - topk/experts)^tokens) of a rank's experts in
expectation. The row of a number of tokens is the profile read there, on a line between the two measured counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.importers.llmservingsim.csv_table import CsvTable
    from profiling.importers.llmservingsim.shape import Shape

EP_SIZES = (1, 2, 4, 8, 16)
"""Ranks that the experts may be spread over. A rank then computes its share of the rows with its share of them."""


def expert_rows(table: CsvTable, shape: Shape) -> Iterator[tuple[int, int, float]]:
    """`(moe_ep_size, tokens over all ranks, microseconds)`, for every size that the profile reaches."""
    tokens, active, time_us = (
        np.array(table.numbers[name]) for name in ("tokens", "activated_experts", "time_us")
    )
    for ep in EP_SIZES:
        if shape.num_experts % ep or shape.topk % ep:
            continue
        for count in np.unique(tokens):
            at = tokens == count
            routed = count * ep
            hit = shape.num_experts / ep * (1 - (1 - shape.topk / shape.num_experts) ** routed)
            order = np.argsort(active[at])
            known, times = active[at][order], time_us[at][order]
            if known[0] <= hit <= known[-1] or np.isclose(hit, known[-1]):
                yield ep, int(routed), float(np.interp(hit, known, times))
