"""Multi-head latent attention, linear attention and state-space layers: their sizes as configs name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import LatentAttention, LinearAttention, Mamba2
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading


def latent_attention(reading: Reading, layer: int) -> LatentAttention:
    """MLA, with the sparse indexer where `index_topk` says so; a layer may take another's choice of keys."""
    fields = reading.fields
    topk = fields.optional_size("index_topk") or 0
    kinds = fields.items("indexer_types", reading.num_layers) if topk else None
    own = topk and (kinds is None or kinds[layer] != "shared")
    return LatentAttention(
        num_heads=fields.size("num_heads"),
        q_lora_rank=fields.optional_size("q_lora_rank") or 0,
        kv_lora_rank=fields.size("kv_lora_rank"),
        qk_nope_head_dim=fields.size("qk_nope_head_dim"),
        qk_rope_head_dim=fields.size("qk_rope_head_dim"),
        v_head_dim=fields.size("v_head_dim"),
        index_heads=fields.size("index_n_heads") if own else 0,
        index_head_dim=fields.size("index_head_dim") if own else 0,
        index_topk=topk,
        bias=fields.flag("attention_bias"),
    )


def linear_attention(reading: Reading) -> LinearAttention:
    """Gated delta rule: key and value heads of their own count and width."""
    fields = reading.fields
    k_heads, v_heads = fields.size("linear_num_key_heads"), fields.size("linear_num_value_heads")
    if v_heads % k_heads:
        raise ServingSimError(
            f"linear_num_value_heads {v_heads} is no multiple of linear_num_key_heads {k_heads}",
            path=fields.where,
        )
    return LinearAttention(
        num_k_heads=k_heads,
        num_v_heads=v_heads,
        k_head_dim=fields.size("linear_key_head_dim"),
        v_head_dim=fields.size("linear_value_head_dim"),
        conv_width=fields.size("linear_conv_kernel_dim"),
    )


def mamba2(reading: Reading) -> Mamba2:
    """State-space duality: heads, their width, the state."""
    fields = reading.fields
    pure = reading.model_type == "mamba2"
    heads = fields.size("num_heads" if pure else "mamba_num_heads")
    groups = fields.size("mamba_groups")
    if heads % groups:
        raise ServingSimError(f"{heads} mamba heads are no multiple of {groups} groups", path=fields.where)
    return Mamba2(
        num_heads=heads,
        head_dim=fields.size("head_dim" if pure else "mamba_head_dim"),
        state_size=fields.size("mamba_state"),
        num_groups=groups,
        conv_width=fields.size("mamba_conv"),
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        proj_bias=fields.flag("use_bias" if pure else "mamba_proj_bias"),
    )
