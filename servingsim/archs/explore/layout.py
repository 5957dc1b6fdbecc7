"""Which layer is what: mixers by layer types, patterns and intervals; MLPs by the sparse-layer rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading

PATTERN = {"M": "mamba", "*": "full_attention", "-": "mlp", "E": "moe"}
"""Letters of `hybrid_override_pattern`."""
TYPE_NAMES = {
    "attention": "full_attention",
    "global_attention": "full_attention",
    "local_attention": "sliding_attention",
    "mamba2": "mamba",
    "gated_deltanet": "linear_attention",
}
"""Other words for a layer type."""


def mixer_types(reading: Reading) -> list[str]:
    """The mixer's type of each layer."""
    fields, count = reading.fields, reading.num_layers
    pattern = fields.text("hybrid_override_pattern")
    if pattern:
        return _lettered(reading, pattern)
    listed = fields.items("layer_types") or fields.items("layers_block_type")
    if listed is not None:
        return _listed(reading, listed)
    interval = fields.optional_size("full_attention_interval")
    if interval and fields.value("linear_num_key_heads"):
        return ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(count)]
    if fields.optional_size("attention_chunk_size"):
        return ["chunked_attention" if rotated else "full_attention" for rotated in _rotated(reading)]
    return _sliding(reading)


def _lettered(reading: Reading, pattern: str) -> list[str]:
    unknown = sorted(set(pattern) - set(PATTERN))
    if unknown or len(pattern) != reading.num_layers:
        raise ServingSimError(
            f"hybrid_override_pattern {shown(pattern)}",
            known=f"one of {' '.join(PATTERN)} for each of {reading.num_layers} layers",
            path=reading.fields.where,
        )
    return [PATTERN[letter] for letter in pattern]


def _listed(reading: Reading, listed: list[Any]) -> list[str]:
    fields = reading.fields
    types = [TYPE_NAMES.get(str(each), str(each)) for each in listed]
    known = {
        "full_attention",
        "sliding_attention",
        "chunked_attention",
        "linear_attention",
        "mamba",
        "moe",
        "mlp",
    }
    if len(types) != reading.num_layers or not known.issuperset(types):
        raise ServingSimError(
            f"layer_types has {len(types)} entries, {shown(sorted(set(types)))}",
            known=f"{', '.join(sorted(known))} for each of {reading.num_layers} layers",
            path=fields.where,
        )
    if "sliding_attention" in types and not fields.optional_size("window"):
        return ["full_attention" if each == "sliding_attention" else each for each in types]
    return types


def _rotated(reading: Reading) -> list[bool]:
    """llama4: layers with positions attend in chunks, those without attend to everything."""
    fields, count = reading.fields, reading.num_layers
    listed = fields.items("no_rope_layers")
    if listed:
        return [i >= len(listed) or bool(listed[i]) for i in range(count)]
    interval = fields.optional_size("no_rope_layer_interval") or 4
    return [bool((i + 1) % interval) for i in range(count)]


def _sliding(reading: Reading) -> list[str]:
    """From `sliding_window` alone, as the model type uses it."""
    fields, count, rule = reading.fields, reading.num_layers, reading.traits.window
    window = fields.optional_size("window")
    if not window or rule == "never":
        return ["full_attention"] * count
    if rule == "always":
        return ["sliding_attention"] * count
    if rule == "switched":
        first = fields.optional_size("max_window_layers") or 0
        slides = fields.flag("use_sliding_window")
        return ["sliding_attention" if slides and i >= first else "full_attention" for i in range(count)]
    pattern = fields.optional_size("sliding_window_pattern")
    if reading.model_type == "gemma2":
        pattern = pattern or 2
    if pattern:
        return ["sliding_attention" if (i + 1) % pattern else "full_attention" for i in range(count)]
    reading.miss("layer_types")
    return ["full_attention"] * count


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
    return [i >= first and _sparse_at(reading, i) for i in range(count)]


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
    return _by_frequency(reading, layer)


def _by_frequency(reading: Reading, layer: int) -> bool:
    """`moe_layer_freq`: a step, or a flag for each layer."""
    fields = reading.fields
    given = fields.value("moe_layer_freq")
    if isinstance(given, list):
        return bool((fields.items("moe_layer_freq", reading.num_layers) or [])[layer])
    step = fields.optional_size("moe_layer_freq") or 1
    return layer % step == 0
