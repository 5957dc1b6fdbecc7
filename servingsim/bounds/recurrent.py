"""Necessary work of layers whose state does not grow with the context, one layer on one rank.

Counted in the recurrent form, which is the least that gives the result: each new token takes every element of a
state once. Chunked kernels compute more of it in exchange for matrix products; no count here depends on a chunk.

- Gated delta rule (Yang et al. 2024), state k_dim x v_dim a value head: decay (1 FLOP an element), what the state
  says of the key (2), the correction's outer product (2), what it says of the query (2): 7.
- Mamba-2 (Dao and Gu 2024), state head_dim x state_size a head: decay (1), the input's outer product and
  its sum (2), what the state says of C (2): 5.
- The causal convolution before them: a multiply-add a tap, channel and token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.bounds.linear import linear
from servingsim.bounds.tally import Part

if TYPE_CHECKING:
    from servingsim.bounds.sizes import DeltaRule, Ranks, StateSpace
    from servingsim.bounds.tally import Step

DELTA_RULE_FLOPS = 7
STATE_SPACE_FLOPS = 5


@dataclass(frozen=True)
class _Recurrence:
    """What both have in common: elements of the state, FLOPs for each and token, channels before."""

    state: float
    flops: int
    channels: float
    conv_width: int
    state_bytes: float
    conv_bytes: float

    def parts(self, step: Step) -> list[Part]:
        """Convolution and recurrence of both phases; a request without a past has no state to read."""
        pasts = sum(prefix > 0 for _, prefix, _ in step.prefill)
        phases = (
            ("prefill", step.prefill_tokens, len(step.prefill), pasts),
            ("decode", len(step.decode), len(step.decode), len(step.decode)),
        )
        taps, state = self.conv_width * self.channels, self.state * self.state_bytes
        window = (self.conv_width - 1) * self.channels * self.conv_bytes
        conv = [
            Part(
                f"mixer.conv.{phase}", "", "conv", flops=2 * taps * tokens,
                read_bytes=window * read, written_bytes=window * requests,
            )
            for phase, tokens, requests, read in phases
        ]  # fmt: skip
        scan = [
            Part(
                f"mixer.scan.{phase}", "", "scan", flops=self.flops * self.state * tokens,
                read_bytes=state * read, written_bytes=state * requests,
            )
            for phase, tokens, requests, read in phases
        ]  # fmt: skip
        weights = Part("mixer.conv", "", "conv", weight_bytes=taps * self.conv_bytes if step.tokens else 0.0)
        return [weights, *conv, *scan]


def delta_rule_parts(mixer: DeltaRule, hidden: int, ranks: Ranks, step: Step) -> list[Part]:
    """Gated delta rule: heads are divided. Projections of q, k, v and the output gate, of beta and decay, and back."""
    values = mixer.num_v_heads / ranks.tp
    keys = max(mixer.num_k_heads / ranks.tp, 1) * mixer.k_dim
    outputs = values * mixer.v_dim
    recurrence = _Recurrence(
        state=outputs * mixer.k_dim,
        flops=DELTA_RULE_FLOPS,
        channels=2 * keys + outputs,
        conv_width=mixer.conv_width,
        state_bytes=mixer.state_bytes,
        conv_bytes=mixer.conv_bytes,
    )
    return [
        linear("mixer.qkvz", step.tokens, hidden, 2 * keys + 2 * outputs, mixer.weight_bytes),
        linear("mixer.ba", step.tokens, hidden, 2 * values, mixer.gate_bytes),
        *recurrence.parts(step),
        linear("mixer.o", step.tokens, outputs, hidden, mixer.weight_bytes),
    ]


def state_space_parts(mixer: StateSpace, hidden: int, ranks: Ranks, step: Step) -> list[Part]:
    """Mamba-2: heads are divided; a group of B and C is not divided further, but copied beyond that."""
    heads = mixer.num_heads / ranks.tp
    inner = heads * mixer.head_dim
    channels = inner + 2 * max(mixer.num_groups / ranks.tp, 1) * mixer.state_size
    recurrence = _Recurrence(
        state=inner * mixer.state_size,
        flops=STATE_SPACE_FLOPS,
        channels=channels,
        conv_width=mixer.conv_width,
        state_bytes=mixer.state_bytes,
        conv_bytes=mixer.conv_bytes,
    )
    return [
        linear("mixer.in", step.tokens, hidden, inner + channels + heads, mixer.weight_bytes),
        *recurrence.parts(step),
        linear("mixer.o", step.tokens, inner, hidden, mixer.weight_bytes),
    ]
