"""What a request keeps on a rank: KV cache by layer class, latents, indexer keys, recurrent and convolution states.

Full attention keeps every token; a window (or a chunk) never more than its length; linear attention and state-space
layers the same state from the first token on. Division over ranks follows `servingsim.worklets.partition`: KV heads
are divided or replicated, a latent and the indexer's keys are the same on every rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.explore.mixer_state import mixer_state
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass, ModelFacts

PAGE_TOKENS = 16
"""Tokens of one page of a paged KV cache (the default of vLLM)."""
MAX_CONTEXT = 2**32


@dataclass(frozen=True)
class ClassState:
    """What the layers of one class keep for one request on one rank, all of them together.

    Attributes:
        name: The layer class.
        layers: How many layers keep something.
        bytes_per_token: What a token adds.
        window_tokens: Tokens that are kept at most, 0 for all.
        fixed_bytes: Kept whatever the context's length.
    """

    name: str
    layers: int
    bytes_per_token: int
    window_tokens: int = 0
    fixed_bytes: int = 0

    def bytes_at(self, context: int, page: int) -> int:
        """Kept at a context length, in whole pages."""
        kept = min(context, self.window_tokens) if self.window_tokens else context
        return math.ceil(kept / page) * page * self.bytes_per_token + self.fixed_bytes


@dataclass(frozen=True)
class RequestState:
    """Memory of one request on one rank.

    Attributes:
        by_class: Bytes by layer class.
    """

    by_class: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes of all layers."""
        return sum(self.by_class.values())


def class_states(facts: ModelFacts, tp: int = 1) -> tuple[ClassState, ...]:
    """What each layer class keeps on one of `tp` ranks.

    Raises:
        ServingSimError: Heads that cannot be divided over the ranks.
    """
    if tp < 1:
        raise ServingSimError(f"tp {tp}", known="1 or more", path="tp")
    return tuple(_class_state(facts, each, tp) for each in facts.layers)


def kv_bytes_per_token(facts: ModelFacts, tp: int = 1) -> dict[str, int]:
    """Bytes that one token adds on one rank, by layer class; sliding layers add no more beyond their window."""
    return {each.name: each.bytes_per_token for each in class_states(facts, tp)}


def request_state_bytes(
    facts: ModelFacts, context: int, tp: int = 1, page: int = PAGE_TOKENS
) -> RequestState:
    """What one request of a context length keeps on one rank, in whole pages.

    Raises:
        ServingSimError: A context or page out of range, or heads that cannot be divided.
    """
    if not 0 <= context <= MAX_CONTEXT:
        raise ServingSimError(f"context {context}", known=f"0 to {MAX_CONTEXT} tokens", path="context")
    if page < 1:
        raise ServingSimError(f"page {page}", known="1 token or more", path="page")
    return RequestState({each.name: each.bytes_at(context, page) for each in class_states(facts, tp)})


def _class_state(facts: ModelFacts, layer: LayerClass, tp: int) -> ClassState:
    per_token, window, fixed = mixer_state(layer.mixer, facts, tp)
    return ClassState(
        layer.name, layer.count, round(layer.count * per_token), window, round(layer.count * fixed)
    )
