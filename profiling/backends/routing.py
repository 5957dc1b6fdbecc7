"""Which experts tokens are routed to, for the distributions that a `fused_moe` spec may name."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BATCHES = 8
"""To rotate through even where the weights fit the memory once only: each hits other experts."""
KNOWN = "balanced, uniform, power_law_<exponent>, active_<experts>"
POWER_LAW = re.compile(r"power_law_(\d+(?:\.\d+)?)")

ACTIVE = re.compile(r"active_([1-9]\d*)")
"""So many experts share the assignments evenly: what a run was seen to do, where its tokens are alike."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Routing:
    """The assignments of one batch, as the rank with most of them sees them.

    Attributes:
        experts: Expert of each assignment, counted from this rank's first, [num_tokens * topk]; `num_local`
            stands for any expert on another rank.
        rows: Assignments to this rank.
        num_local: Experts on this rank.
    """

    experts: IntArray
    rows: int
    num_local: int


def refusal(distribution: str) -> str:
    """Why a distribution cannot be drawn, empty where it can."""
    if distribution in {"balanced", "uniform"} or POWER_LAW.fullmatch(distribution):
        return ""
    if ACTIVE.fullmatch(distribution):
        return ""
    return f"distribution {distribution!r} is not one of {KNOWN}"


def route(num_tokens: int, topk: int, num_experts: int, ranks: int, distribution: str, seed: int) -> Routing:
    """Route a batch; all ranks wait for the one with the most rows, so its rows are the ones that count."""
    chosen = _chosen(num_tokens, topk, num_experts, distribution, np.random.default_rng(seed)).reshape(-1)
    num_local = -(-num_experts // ranks)
    rows = np.bincount(chosen // num_local, minlength=ranks)
    busiest = int(rows.argmax())
    local = chosen - busiest * num_local
    elsewhere = (local < 0) | (local >= num_local)
    return Routing(np.where(elsewhere, num_local, local), int(rows[busiest]), num_local)


def _chosen(
    num_tokens: int, topk: int, num_experts: int, distribution: str, source: np.random.Generator
) -> IntArray:
    """Different experts for each token, [num_tokens, topk].

    Drawn without replacement in proportion to the popularity of the experts, by the Gumbel top-k trick: the k
    largest of log(popularity) plus Gumbel noise.
    """
    active = ACTIVE.fullmatch(distribution)
    if distribution == "balanced" or active:
        hit = min(num_experts, max(topk, int(active[1]))) if active else num_experts
        turns = np.arange(num_tokens * topk).reshape(num_tokens, topk) % hit
        return source.permutation(num_experts)[:hit][turns] if active else turns
    popularity = _popularity(num_tokens, topk, num_experts, distribution)
    scores = np.log(source.permutation(popularity)) + source.gumbel(size=(num_tokens, num_experts))
    return np.argpartition(-scores, topk - 1, axis=1)[:, :topk]


def _popularity(num_tokens: int, topk: int, num_experts: int, distribution: str) -> npt.NDArray[np.float64]:
    """Relative loads of the experts: equal, or the quantiles of a density x^-exponent.

    The range of the density is the one that AIConfigurator draws its loads from, so that rows of its name
    mean the
    same: 1 to 0.8·num_tokens, or 0.01 to 2 where there are fewer assignments than experts.
    """
    law = POWER_LAW.fullmatch(distribution)
    if law is None:
        return np.ones(num_experts)
    low, high = (1.0, 0.8 * num_tokens) if num_tokens * topk > num_experts else (0.01, 2.0)
    quantiles = (np.arange(num_experts) + 0.5) / num_experts
    power = 1.0 - float(law[1])
    if abs(power) < 1e-9:
        return np.asarray(low * (high / low) ** quantiles)
    return np.asarray((quantiles * (high**power - low**power) + low**power) ** (1.0 / power))
