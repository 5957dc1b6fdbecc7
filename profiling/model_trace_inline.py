"""Attention that modelling code writes out by hand, as products around a softmax, made whole after the fact.

Older models do not call an attention function. A softmax between a product that gives its operand and one that
takes its result, all in one module, is attention: every stack runs it as one kernel.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from profiling.model_trace_region_work import causal_pairs
from profiling.model_trace_work import ADDED_PRODUCTS, PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from profiling.model_trace import TracedOp

TORCH_ATTENTION = "aten.scaled_dot_product_attention"
MATRIX = 3
"""Dimensions of a product of activations: at least a batch of matrices."""


def whole_attention(ops: Iterable[TracedOp]) -> list[TracedOp]:
    """The operations as they ran, with a `region.attention` in place of each attention written by hand."""
    whole: list[TracedOp] = []
    for _, run in groupby(ops, key=lambda op: (op.phase, op.layer)):
        whole.extend(_merged(list(run)))
    return whole


def _merged(ops: list[TracedOp]) -> list[TracedOp]:
    """Of one layer, from its end: a span that is replaced does not move those before it."""
    for at in range(len(ops) - 1, -1, -1):
        if at < len(ops) and ops[at].aten == TORCH_ATTENTION:
            ops[at] = _region(ops[at], ops[at], ops[at])
        elif at < len(ops) and ops[at].aten in {"aten.softmax", "aten._softmax"}:
            span = _span(ops, at)
            if span is not None:
                first, last = span
                ops[first : last + 1] = [_region(ops[first], ops[at], ops[last])]
    return ops


def _span(ops: Sequence[TracedOp], at: int) -> tuple[int, int] | None:
    """The product that gives a softmax its operand and the one that takes its result; None where there are none."""
    weights = math.prod(ops[at].output)
    before = (
        index
        for index in range(at - 1, -1, -1)
        if _product(ops[index]) and _around(ops[index], ops[at]) and math.prod(ops[index].output) == weights
    )
    after = (
        index
        for index in range(at + 1, len(ops))
        if _product(ops[index])
        and _around(ops[index], ops[at])
        and math.prod(ops[index].inputs[0]) == weights
    )
    first, last = next(before, None), next(after, None)
    return None if first is None or last is None else (first, last)


def _around(product: TracedOp, softmax: TracedOp) -> bool:
    """Whether both are written in one module; the softmax may be a module of its own below it."""
    return softmax.module == product.module or softmax.module.startswith(f"{product.module}.")


def _product(op: TracedOp) -> bool:
    """Whether it multiplies two activations."""
    name = op.aten.removeprefix("aten.")
    return name in (*PRODUCTS, *ADDED_PRODUCTS, "einsum") and name != "linear" and len(op.output) >= MATRIX


def _region(first: TracedOp, softmax: TracedOp, last: TracedOp) -> TracedOp:
    """One operation with the operands of both products, counted over the pairs that causality leaves."""
    if first is last:
        operands, (q_len, keys), flops = (
            first.inputs[:3],
            (first.inputs[0][-2], first.inputs[1][-2]),
            first.flops,
        )
    else:
        operands, (q_len, keys) = (*first.inputs[-2:], last.inputs[1]), softmax.output[-2:]
        flops = first.flops + last.flops
    pairs = causal_pairs(q_len, keys, keys)
    size = 2 if first.dtype in {"bfloat16", "float16"} else 4
    return replace(
        first,
        aten="region.attention",
        inputs=operands,
        output=last.output,
        dtype=last.dtype,
        flops=flops * pairs // max(q_len * keys, 1),
        bytes_moved=size * sum(math.prod(each) for each in (*operands, last.output)),
        view=False,
        detail="written out by hand" if first is not last else "",
    )
