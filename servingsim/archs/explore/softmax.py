"""Softmax attention of one layer: heads, their widths, which keys they see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import SoftmaxAttention
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading


def softmax_attention(reading: Reading, *, layer: int, layer_type: str) -> SoftmaxAttention:
    """The mixer of a layer of full, sliding or chunked attention."""
    fields, traits = reading.fields, reading.traits
    full = layer_type == "full_attention"
    heads, kv_heads, head_dim = head_counts(reading, full=full)
    window = 0 if full else _window(reading, layer_type)
    return SoftmaxAttention(
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=fields.optional_size("v_head_dim", least=1) or head_dim,
        window_size=window,
        chunked=layer_type == "chunked_attention",
        qk_norm=reading.trait("qk_norm"),
        qkv_bias=reading.trait("qkv_bias"),
        o_bias=reading.trait("o_bias"),
        rope=_rotated(reading, layer),
        sinks=traits.sinks,
        output_gate=reading.trait("output_gate"),
        v_norm=reading.model_type.startswith("gemma4"),
        k_is_v=full and fields.flag("attention_k_eq_v"),
    )


def head_counts(reading: Reading, *, full: bool) -> tuple[int, int, int]:
    """Query heads, KV heads and head size; gemma4's full layers have their own."""
    fields = reading.fields
    heads = fields.size("num_heads")
    kv_heads = _kv_heads(reading, heads)
    head_dim = fields.optional_size("head_dim", least=1) or _derived_head_dim(reading, heads)
    if full and reading.model_type.startswith("gemma4"):
        head_dim = fields.optional_size("global_head_dim", least=1) or head_dim
        if fields.flag("attention_k_eq_v"):
            kv_heads = fields.optional_size("num_global_key_value_heads", least=1) or kv_heads
    if heads % kv_heads:
        raise ServingSimError(
            f"num_attention_heads {heads} is no multiple of num_key_value_heads {kv_heads}", path=fields.where
        )
    return heads, kv_heads, head_dim


def _kv_heads(reading: Reading, heads: int) -> int:
    fields = reading.fields
    if fields.value("num_kv_heads") is None and fields.flag("multi_query"):
        return 1
    return fields.optional_size("num_kv_heads", least=1) or heads


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


def _rotated(reading: Reading, layer: int) -> bool:
    """Layers without positions: `no_rope_layers` (1: rotated) or every `no_rope_layer_interval`-th."""
    fields = reading.fields
    listed = fields.items("no_rope_layers", None)
    if listed:
        return layer >= len(listed) or bool(listed[layer])
    if not fields.flag("use_rope", default=True):
        return False
    interval = fields.optional_size("no_rope_layer_interval")
    return not interval or bool((layer + 1) % interval)
