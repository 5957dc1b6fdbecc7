"""A linear layer: two FLOPs a weight and token, its weights read once where any token passes."""

from __future__ import annotations

from servingsim.bounds.tally import Part


def linear(
    name: str, tokens: float, inputs: float, outputs: float, weight_bytes: float, *, once: float | None = None
) -> Part:
    """One linear layer on one rank.

    Args:
        name: Of the part.
        tokens: Rows that are multiplied.
        inputs: Elements of a row.
        outputs: Elements of a result.
        weight_bytes: Of one weight.
        once: Rows that decide whether the weights are read; None for `tokens`.
    """
    weights = inputs * outputs
    read = tokens if once is None else once
    return Part(
        name, "", "gemm", flops=2 * tokens * weights, weight_bytes=weights * weight_bytes if read else 0.0
    )
