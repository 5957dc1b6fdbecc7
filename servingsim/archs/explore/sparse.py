"""Which layers have routed experts, by the rules that configs state it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading


def sparse_layers(reading: Reading) -> list[bool]:
    """Whether each layer's MLP is routed experts."""
    fields, count = reading.fields, reading.num_layers
    if not fields.agreeing_size("num_experts"):
        return [False] * count
    if reading.model_type.startswith("gemma4") and not fields.flag("enable_moe_block"):
        return [False] * count
    listed = fields.items("mlp_layer_types")
    if listed is not None:
        return [str(each) in {"sparse", "moe"} for each in fields.items("mlp_layer_types", count) or []]
    first = fields.optional_size("first_dense") or 0
    stated = fields.optional_size("moe_layer_end_index", least=-1)
    # -1 stands for the last layer.
    last = count if stated is None or stated < 0 else stated
    return [first <= i <= last and _sparse_at(reading, i) for i in range(count)]


def _sparse_at(reading: Reading, layer: int) -> bool:
    fields = reading.fields
    dense = fields.items("mlp_only_layers")
    if dense and layer in dense:
        return False
    explicit = fields.items("moe_layers")
    if explicit:
        return layer in explicit
    interleave = fields.optional_size("interleave_moe_layer_step")
    if interleave:
        return (layer + 1) % interleave == 0
    step = fields.optional_size("decoder_sparse_step")
    if step:
        return (layer + 1) % step == 0
    every = fields.optional_size("moe_layer_interval")
    if every:
        return (layer + 1) % every == 0
    return _by_frequency(reading, layer)


def _by_frequency(reading: Reading, layer: int) -> bool:
    """`moe_layer_freq`: a step, or a flag for each layer."""
    fields = reading.fields
    given = fields.value("moe_layer_freq")
    if isinstance(given, list):
        return bool((fields.items("moe_layer_freq", reading.num_layers) or [])[layer])
    step = fields.optional_size("moe_layer_freq") or 1
    return layer % step == 0
