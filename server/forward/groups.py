"""Which part of a real forward is which operation of a prediction.

A span is a module's path without the number of its layer, or a function's name (`profiling.forward_spans`); an
operation is a row of the composition. Where a module calls others, its own time holds what lies between them: small
operations that are no module, and the launching itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ONCE = "once an iteration"
BETWEEN = "between launches of "


@dataclass(frozen=True)
class Group:
    """Spans and operations that are the same work.

    Attributes:
        name: What both are, a template of the match.
        spans: Pattern of the spans, searched.
        ops: Pattern of the operations, searched.
    """

    name: str
    spans: str
    ops: str


GROUPS = (
    Group("embedding", r"embed_tokens$", r"embed\.lookup$"),
    Group("head", r"^lm_head$", r"head\.lm_head$"),
    Group("norm", r"(?:_layernorm|^model\.norm)$", r"\.(?:final_norm|(?:attention|linear|mlp|moe)\.norm)$"),
    Group(r"attention.\1", r"self_attn\.([qkvo]_proj)$", r"attention\.([qkvo]_proj)$"),
    Group("head norms", r"self_attn\.[qk]_norm$", r"attention\.[qk]_norm$"),
    Group("rope", r"^apply_rotary_pos_emb$", r"attention\.rope$"),
    Group("kv_append", r"^cache\.update$", r"attention\.kv_append$"),
    Group("attention", r"^attention$", r"attention\.(?:prefill|decode)$"),
    Group(r"mlp.\1", r"mlp\.((?:gate|up|down)_proj)$", r"mlp\.((?:gate|up|down)_proj)$"),
    Group("mlp.silu", r"mlp\.act_fn$", r"mlp\.silu$"),
    Group("router", r"mlp\.gate$", r"moe\.(?:router|topk)$"),
    Group("experts", r"\.experts(?:\..+)?$", r"moe\.experts$"),
    Group(r"shared.\1", r"shared_expert\.((?:gate|up|down)_proj)$", r"shared_((?:gate|up|down)_proj)$"),
    Group("shared.silu", r"shared_expert\.act_fn$", r"moe\.shared\.silu$"),
    Group("shared gate", r"shared_expert_gate$", r"moe\.shared_gate$"),
    Group(r"linear.\1", r"linear_attn\.((?:in|out)_proj\w*)$", r"linear\.((?:in|out)_proj\w*)$"),
    Group("conv", r"^causal_conv1d_(?:fn|update)$", r"linear\.conv\.(?:prefill|decode)$"),
    Group("scan", r"^torch_(?:chunk|recurrent)_gated_delta_rule$", r"linear\.(?:prefill|decode)$"),
    Group("gated norm", r"linear_attn\.norm$", r"linear\.gated_norm$"),
    Group(f"{BETWEEN}attention", r"\.self_attn$", r"attention\.output_gate$"),
    Group(f"{BETWEEN}linear attention", r"\.linear_attn$", r"linear\.gates$"),
    Group(f"{BETWEEN}the shared expert", r"\.shared_expert$", r"moe\.shared\.mul$"),
    Group(f"{BETWEEN}the mlp", r"\.mlp$", r"mlp\.mul$|moe\.shared_(?:scale|add)$"),
    Group(f"{BETWEEN}a layer", r"\.layers$", r"\.residual_add$"),
)


def by_group(times_ms: Mapping[str, float], kind: str) -> dict[str, float]:
    """Times summed by group; what no group names happens once an iteration.

    Args:
        times_ms: By span or by operation.
        kind: `spans` or `ops`, which of them the names are.
    """
    found: dict[str, float] = {}
    for name, time_ms in times_ms.items():
        group = _group_of(name, kind)
        found[group] = found.get(group, 0.0) + time_ms
    return found


def is_between(group: str) -> bool:
    """Whether what a group holds beside its operations is the host's."""
    return group == ONCE or group.startswith(BETWEEN)


def _group_of(name: str, kind: str) -> str:
    for group in GROUPS:
        match = re.search(group.spans if kind == "spans" else group.ops, name)
        if match:
            return match.expand(group.name)
    return ONCE
