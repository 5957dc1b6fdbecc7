"""Softmax attention of one layer: heads, their widths, which keys they see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import SoftmaxAttention
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading


def softmax_attention(reading: Reading, *, layer: int, layer_type: str, rope: bool) -> SoftmaxAttention:
    """The mixer of a layer of full, sliding or chunked attention."""
    fields = reading.fields
    full = layer_type == "full_attention"
    heads, kv_heads, head_dim = head_counts(reading, full=full)
    prefix = "" if full else "swa_"
    return SoftmaxAttention(
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=_value_dim(reading, prefix) or head_dim,
        window_size=0 if full else _window(reading, layer_type),
        chunked=layer_type == "chunked_attention",
        # Llama 4 normalises queries and keys only where it rotates them.
        qk_norm=reading.trait("qk_norm") and (rope or reading.model_type != "llama4_text"),
        qkv_bias=reading.trait("qkv_bias"),
        o_bias=reading.trait("o_bias"),
        rope=rope,
        sinks=reading.traits.sinks or fields.flag(f"add_{prefix or 'full_'}attention_sink_bias"),
        output_gate=reading.trait("output_gate"),
        v_norm=reading.model_type.startswith("gemma4"),
        k_is_v=full and fields.flag("attention_k_eq_v"),
        kv_shared=shares_kv(reading, layer),
    )


def shares_kv(reading: Reading, layer: int) -> bool:
    """Whether a layer takes the keys and values of an earlier one: the last `num_kv_shared_layers` do."""
    shared = reading.fields.optional_size("num_kv_shared_layers") or 0
    return layer >= reading.num_layers - shared


def head_counts(reading: Reading, *, full: bool) -> tuple[int, int, int]:
    """Query heads, KV heads and head size; full or sliding layers may have their own."""
    fields = reading.fields
    heads = fields.size("num_heads")
    kv_heads = _kv_heads(reading, heads)
    head_dim = fields.optional_size("head_dim", least=1) or _derived_head_dim(reading, heads)
    if full and reading.model_type.startswith("gemma4"):
        head_dim = fields.optional_size("global_head_dim", least=1) or head_dim
        if fields.flag("attention_k_eq_v"):
            kv_heads = fields.optional_size("num_global_key_value_heads", least=1) or kv_heads
    if not full:
        heads = fields.optional_size("swa_num_attention_heads", least=1) or heads
        kv_heads = fields.optional_size("swa_num_key_value_heads", least=1) or kv_heads
        head_dim = fields.optional_size("swa_head_dim", least=1) or head_dim
    if heads % kv_heads:
        raise ServingSimError(
            f"num_attention_heads {heads} is no multiple of num_key_value_heads {kv_heads}", path=fields.where
        )
    return heads, kv_heads, head_dim


def _value_dim(reading: Reading, prefix: str) -> int | None:
    fields = reading.fields
    own = fields.optional_size(f"{prefix}v_head_dim", least=1) if prefix else None
    return own or fields.optional_size("v_head_dim", least=1)


def _kv_heads(reading: Reading, heads: int) -> int:
    """Stated; one with `multi_query` (falcon states the query heads beside it); else one for each query head."""
    fields = reading.fields
    one = fields.flag("multi_query") and not fields.flag("new_decoder_architecture")
    stated = fields.optional_size("num_kv_heads", least=1)
    grouped = fields.value("multi_query_attention")
    if one and (stated is None or stated == heads or reading.model_type == "falcon"):
        return 1
    return heads if stated is None or grouped is False else stated


def _derived_head_dim(reading: Reading, heads: int) -> int:
    hidden = reading.fields.size("hidden_size")
    if hidden % heads:
        raise ServingSimError(
            f"head_dim is absent and hidden_size {hidden} is no multiple of num_attention_heads {heads}",
            path=reading.fields.where,
        )
    return hidden // heads


def _window(reading: Reading, layer_type: str) -> int:
    name = "attention_chunk_size" if layer_type == "chunked_attention" else "window"
    return reading.fields.size(name)
