"""Work of a region, from its shapes: what its algorithm needs, not what reference code spends on it.

A delta rule and a scan are counted in their recurrent form, a multiply-add as two: they are linear in the tokens,
whatever chunking a kernel picks. Weights of experts are read once for each that is expected to be touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profiling.model_trace_work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADS_APART = 4
"""Dimensions of queries as attention takes them: batch, heads, tokens, elements."""
REGIONS = {
    "causal_conv1d_fn": "causal_conv1d",
    "causal_conv1d_update": "causal_conv1d",
    "chunk_gated_delta_rule": "gated_delta_rule",
    "fused_recurrent_gated_delta_rule": "gated_delta_rule",
    "chunk_kda": "kimi_delta_rule",
    "fused_recurrent_kda": "kimi_delta_rule",
    "mamba_chunk_scan_combined": "mamba_scan",
    "selective_state_update": "mamba_scan",
    "selective_scan_fn": "mamba_scan",
}
"""A fused form for many tokens and one for a single token compute the same."""
COUNTS = ("num_experts", "moe_num_experts")
"""How modules name their number of experts; else it is the first axis of their weights."""
DELTA_FLOPS = 7
"""An element of the state and token: decay, state times key (2), the update's outer product (2), times query (2)."""
SCAN_FLOPS = 5
"""Decay, the input's outer product and its sum (2), state times C, or query (2)."""
ELEMENTWISE_PRODUCTS = {"rwkv_scan": 6, "gated_linear_recurrence": 1}
"""Of recurrences whose state is one element a channel: numerator, denominator and output; decay and add."""


def region_name(hub_name: str) -> str:
    """How a function of the hub is recorded."""
    return f"region.{REGIONS.get(hub_name, hub_name)}"


def attention(module: Any, tensors: tuple[Any, Any, Any], said: Mapping[str, Any], context: int) -> Work:  # noqa: ANN401 - a module
    """Scores and weighted values of the pairs that the mask leaves.

    Args:
        module: That calls it: says whether it is causal, and the window where the call does not.
        tensors: Query, key and value, `(batch, heads, tokens, elements)`.
        said: The call's keywords.
        context: Tokens cached before the queries.
    """
    query, key, value = tensors
    batch, heads, q_len, head_dim = query.shape
    pairs, mask = _pairs(module, said, q_len, key.shape[2], context)
    moved = sum(each.numel() * each.element_size() for each in tensors)
    output = batch * heads * q_len * value.shape[3] * query.element_size()
    flops = int(2 * batch * heads * (head_dim + value.shape[3]) * pairs)
    return Work(flops, int(moved + output), mask)


def experts(module: Any, hidden: Any, top_k: int, *, every: bool = False) -> Work:  # noqa: ANN401 - a module and a tensor
    """Every token through its experts' matrices; under uniform routing `E (1 - (1 - k/E)^n)` experts are read.

    Args:
        module: That holds the experts' weights, stacked.
        hidden: Its input.
        top_k: Experts of a token.
        every: Whether the input holds each token once for every expert, as code does that computes them all.
    """
    weights = stacked(module)
    count = next(
        (int(getattr(module, name)) for name in COUNTS if getattr(module, name, 0)), weights[0].shape[0]
    )
    among = max(int(getattr(module, "total_experts", 0) or 0), count)
    tokens = hidden.numel() // hidden.shape[-1] // (count if every else 1)
    touched = count * (1.0 - (1.0 - min(top_k, among) / among) ** tokens)
    matrices = [each for each in weights if each.dim() > 2 or each.shape[0] != count]
    products = sum(2 * tokens * top_k * each.numel() // among for each in matrices)
    read = sum(each.numel() * each.element_size() for each in weights) * touched / count
    moved = round(read) + 2 * tokens * hidden.shape[-1] * hidden.element_size()
    return Work(products, moved, f"experts {count} top_k {top_k}")


def stacked(module: Any) -> list[Any]:  # noqa: ANN401 - a module
    """Weights of all experts at once: beside each other on the first axis."""
    return [each for each in module.parameters() if each.dim() > 1]


def hub(name: str, named: Mapping[str, Any], operands: list[Any], results: list[Any], inside: int) -> Work:
    """Of a function that a kernel of the hub may stand for.

    Args:
        name: Its name on the hub.
        named: Its arguments by the names of its parameters.
        operands: The tensors among them.
        results: The tensors that it returns.
        inside: FLOPs of its reference code, for a function that no rule is known of.
    """
    moved = sum(each.numel() * each.element_size() for each in [*operands, *results])
    known = _hub_flops(REGIONS.get(name, name), name, named, results[0])
    return Work(inside if known is None else known, int(moved))


def _hub_flops(region: str, name: str, named: Mapping[str, Any], result: Any) -> int | None:  # noqa: ANN401 - a tensor
    if region == "causal_conv1d":
        return int(2 * result.numel() * named["weight"].shape[-1])
    if region in {"gated_delta_rule", "kimi_delta_rule"}:
        return int(DELTA_FLOPS * result.numel() * named["key"].shape[-1])
    if region == "mlstm_scan":
        return int(SCAN_FLOPS * result.numel() * named["key"].shape[-1])
    if region in ELEMENTWISE_PRODUCTS:
        return int(2 * ELEMENTWISE_PRODUCTS[region] * result.numel())
    if region == "mamba_scan":
        state = named["A"].shape[-1] if name == "selective_scan_fn" else named["B"].shape[-1]
        return int(SCAN_FLOPS * result.numel() * state)
    return None


def _pairs(
    module: Any,  # noqa: ANN401 - a module
    said: Mapping[str, Any],
    q_len: int,
    keys: int,
    context: int,
) -> tuple[int, str]:
    """Pairs of a query and a key that the mask leaves, and the mask in words."""
    causal = said.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    if not causal:
        return q_len * keys, "not causal"
    chunk = _chunk(module)
    if chunk:
        return sum(position % chunk + 1 for position in range(context, context + q_len)), f"chunk {chunk}"
    limits = {name: seen for name, seen in _limits(module, said).items() if isinstance(seen, int) and seen}
    words = " ".join(f"{name} {limit}" for name, limit in limits.items())
    return causal_pairs(q_len, keys, min(limits.values(), default=keys)), words


def causal_pairs(q_len: int, keys: int, seen: int) -> int:
    """Pairs where the queries are the last tokens of the keys, each seeing at most `seen` of them."""
    return sum(min(max(keys - q_len + at, 0) + 1, seen, keys) for at in range(q_len))


def _limits(module: Any, said: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a module
    """Keys that a query can see: a window, and the keys that an indexer picks.

    Beside compressed keys of the whole context a window says nothing of what is seen: all keys are counted.
    """
    compressed = getattr(module, "compressor", None) is not None
    window = said.get("sliding_window", getattr(module, "sliding_window", None))
    return {
        "window": None if compressed else window,
        "picked": getattr(getattr(module, "indexer", None), "index_topk", None),
    }


def _chunk(module: Any) -> int:  # noqa: ANN401 - a module
    """Tokens of a chunk that attention stays inside, 0 without: by the layer's type."""
    config, layer = getattr(module, "config", None), getattr(module, "layer_idx", None)
    types = getattr(config, "layer_types", None) or ()
    chunked = isinstance(layer, int) and layer < len(types) and types[layer] == "chunked_attention"
    return int(getattr(config, "attention_chunk_size", 0) or 0) if chunked else 0
