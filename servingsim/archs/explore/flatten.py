"""Config dialects made plain: parts of a layer in objects of their own, and lists over modalities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTS = ("attn_config", "ffn_config")
"""Objects that hold a layer's attention and MLP (dbrx, mpt)."""
WITHIN_PARTS = ("kv_n_heads", "ffn_hidden_size", "moe_num_experts", "moe_top_k", "qk_ln")
TEXT_FIRST = ("moe_num_experts", "moe_intermediate_size", "moe_k")
"""Fields that list the text's value before the image's (ernie4_5_vl)."""


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a config with those of its parts beside them; what the config itself says goes first."""
    found = dict(data)
    for part in PARTS:
        inner = data.get(part)
        if isinstance(inner, dict):
            found = {name: inner[name] for name in WITHIN_PARTS if name in inner} | found
            act = inner.get("ffn_act_fn")
            if isinstance(act, dict) and isinstance(act.get("name"), str):
                found = {"hidden_act": act["name"]} | found
    if str(data.get("model_type", "")).startswith("ernie4_5_vl"):
        found |= {
            name: data[name][0] for name in TEXT_FIRST if isinstance(data.get(name), list) and data[name]
        }
    return found
