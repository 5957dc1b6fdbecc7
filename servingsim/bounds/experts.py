"""Necessary work of dense MLPs and of routed experts, one layer on one rank.

A token passes topk of the experts. How many distinct ones a step touches is not known before it is routed: under
uniform routing a token misses an expert with probability 1 - topk/E, since its experts are distinct, so that n
tokens touch E (1 - (1 - topk/E)^n) in expectation. Skewed routing touches fewer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from servingsim.bounds.linear import linear
from servingsim.bounds.tally import Part

if TYPE_CHECKING:
    from servingsim.bounds.sizes import Experts, Projections, Ranks
    from servingsim.bounds.tally import Step


def touched(num_experts: float, topk: float, tokens: float) -> float:
    """Distinct experts that so many tokens go to, in expectation under uniform routing."""
    missed = max(1 - topk / num_experts, 0.0)
    return num_experts * (1 - math.pow(missed, tokens))


def projections_parts(
    mlp: Projections, hidden: int, ranks: Ranks, step: Step, name: str = "mlp"
) -> list[Part]:
    """A dense MLP, its width divided: up (and gate), and down."""
    width = mlp.width / ranks.tp
    up = linear(f"{name}.up", step.tokens, hidden, (mlp.matrices - 1) * width, mlp.weight_bytes)
    return [up, linear(f"{name}.down", step.tokens, width, hidden, mlp.weight_bytes)]


def expert_parts(mlp: Experts, hidden: int, ranks: Ranks, step: Step) -> list[Part]:
    """Router, routed experts and what stands beside them; the router and the shared gate are every rank's own."""
    inputs, tokens = mlp.latent_size or hidden, step.tokens
    routed = tokens * ranks.dp
    one = mlp.matrices * inputs * mlp.width / ranks.moe_tp
    hit = touched(mlp.num_experts, mlp.topk, routed) / ranks.ep
    experts = Part(
        "mlp.experts", "", "experts",
        flops=2 * routed * mlp.topk / ranks.ep * one, weight_bytes=hit * one * mlp.weight_bytes,
    )  # fmt: skip
    found = [linear("mlp.router", tokens, hidden, mlp.num_experts, mlp.router_bytes), experts]
    if mlp.latent_size:
        there = linear("mlp.latent", tokens, hidden, mlp.latent_size, mlp.latent_bytes)
        found += [there, replace(there, name="mlp.latent_back")]
    if mlp.shared:
        found += projections_parts(mlp.shared, hidden, ranks, step, "mlp.shared")
    if mlp.shared_gate:
        found.append(linear("mlp.shared_gate", tokens, hidden, 1, mlp.router_bytes))
    if mlp.beside:
        found += projections_parts(mlp.beside, hidden, ranks, step, "mlp.beside")
    return found
