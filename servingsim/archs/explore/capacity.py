"""How many tokens and requests a device's memory holds beside the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.explore.state import MAX_CONTEXT, PAGE_TOKENS, class_states, request_state_bytes
from servingsim.archs.explore.weights import weight_bytes
from servingsim.archs.kv import DEFAULT_UTILISATION, check_utilisation
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.model_facts import ModelFacts


@dataclass(frozen=True)
class Capacity:
    """Memory of one rank.

    Attributes:
        weight_bytes: Weights on it.
        free_bytes: What is left for requests, 0 where the weights do not fit.
        request_bytes: Of one request at the context asked for.
        requests: That fit at once at that context, 0 where none does.
        tokens: Of context over those requests together.
        bytes_per_token: That a token adds beyond every window.
        longest_context: Of a single request, in whole pages; 0 where nothing in the model grows with it.
    """

    weight_bytes: int
    free_bytes: int
    request_bytes: int
    requests: int
    tokens: int
    bytes_per_token: int
    longest_context: int


def capacity(
    facts: ModelFacts,
    device_bytes: int,
    *,
    context: int,
    tp: int = 1,
    ep: int = 1,
    page: int = PAGE_TOKENS,
    utilisation: float = DEFAULT_UTILISATION,
    reserved_bytes: int = 0,
) -> Capacity:
    """What fits on one rank beside the weights.

    Args:
        facts: The model.
        device_bytes: Memory of the device.
        context: Tokens of each request.
        tp: Ranks that share the model.
        ep: Ranks that share the experts.
        page: Tokens of a page.
        utilisation: Share of the memory that may be used.
        reserved_bytes: Activations, graphs and the like; not modelled, so 0 makes this an upper bound.

    Raises:
        ServingSimError: A number out of range, or that does not divide.
    """
    check_utilisation(utilisation)
    if device_bytes < 1 or reserved_bytes < 0:
        raise ServingSimError(
            f"device_bytes {device_bytes}, reserved_bytes {reserved_bytes}", known="bytes of memory"
        )
    weights = weight_bytes(facts, tp, ep)
    free = max(0, math.floor(device_bytes * utilisation) - weights - reserved_bytes)
    one = request_state_bytes(facts, context, tp, page).total
    requests = free // one if one else 0
    return Capacity(
        weight_bytes=weights,
        free_bytes=free,
        request_bytes=one,
        requests=requests,
        tokens=requests * context,
        bytes_per_token=sum(
            each.bytes_per_token for each in class_states(facts, tp) if not each.window_tokens
        ),
        longest_context=_longest(facts, free, tp, page),
    )


def _longest(facts: ModelFacts, free: int, tp: int, page: int) -> int:
    """Largest whole number of pages whose state fits, by halving: the state never shrinks with the context."""
    if not any(each.bytes_per_token and not each.window_tokens for each in class_states(facts, tp)):
        return 0
    low, high = 0, MAX_CONTEXT // page
    while low < high:
        middle = (low + high + 1) // 2
        fits = request_state_bytes(facts, middle * page, tp, page).total <= free
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * page
