"""A linear layer: two FLOPs a weight and token, its weights read once where any token passes."""

from __future__ import annotations

from servingsim.bounds.tally import Part


def linear(name: str, tokens: float, inputs: float, outputs: float, weight_bytes: float) -> Part:
    """One linear layer on one rank.

    Args:
        name: Of the part.
        tokens: Rows that are multiplied.
        inputs: Elements of a row.
        outputs: Elements of a result.
        weight_bytes: Of one weight.
    """
    weights = inputs * outputs
    read = weights * weight_bytes if tokens else 0.0
    return Part(name, "", "gemm", flops=2 * tokens * weights, weight_bytes=read)
