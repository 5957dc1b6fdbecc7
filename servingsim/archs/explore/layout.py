"""Which mixer each layer has: letters, listed types, intervals, patterns, or a window alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.explore.windows import sliding_types, with_positions
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
    "indexed_attention": "full_attention",
    "deepseek_sparse_attention": "full_attention",
}
"""Other words for a layer type."""
KNOWN_TYPES = frozenset(
    ("full_attention", "sliding_attention", "chunked_attention", "linear_attention", "mamba", "moe", "mlp")
)


def mixer_types(reading: Reading) -> list[str]:
    """The mixer's type of each layer, by the first of the config's ways to say it."""
    ways = (_lettered, _listed, _mamba, _flagged, _interval, _chunked)
    found = next((types for types in (way(reading) for way in ways) if types is not None), None)
    return found if found is not None else sliding_types(reading)


def _lettered(reading: Reading) -> list[str] | None:
    pattern = reading.fields.text("hybrid_override_pattern")
    if not pattern:
        return None
    if set(pattern) - set(PATTERN) or len(pattern) != reading.num_layers:
        raise ServingSimError(
            f"hybrid_override_pattern {shown(pattern)}",
            known=f"one of {' '.join(PATTERN)} for each of {reading.num_layers} layers",
            path=reading.fields.where,
        )
    return [PATTERN[letter] for letter in pattern]


def _listed(reading: Reading) -> list[str] | None:
    fields = reading.fields
    listed = fields.items("layer_types") or fields.items("layers_block_type")
    if listed is None:
        return None
    types = [TYPE_NAMES.get(str(each), str(each)) for each in listed]
    if len(types) != reading.num_layers or not KNOWN_TYPES.issuperset(types):
        raise ServingSimError(
            f"layer_types has {len(types)} entries, {shown(sorted(set(types)))}",
            known=f"{', '.join(sorted(KNOWN_TYPES))} for each of {reading.num_layers} layers",
            path=fields.where,
        )
    switched_off = reading.traits.window == "switched" and not fields.flag("use_sliding_window")
    if switched_off or not fields.optional_size("window"):
        return ["full_attention" if each == "sliding_attention" else each for each in types]
    return types


def _mamba(reading: Reading) -> list[str] | None:
    fields, count = reading.fields, reading.num_layers
    if reading.model_type == "mamba2":
        return ["mamba"] * count
    if not fields.value("mamba_num_heads"):
        return None
    attending = fields.items("attn_layer_indices") or []
    if not reading.traits.known and not attending:
        reading.miss("layer_types")
    return ["full_attention" if i in attending else "mamba" for i in range(count)]


def _flagged(reading: Reading) -> list[str] | None:
    flags = reading.fields.items("hybrid_layer_pattern", reading.num_layers)
    return None if flags is None else ["sliding_attention" if each else "full_attention" for each in flags]


def _interval(reading: Reading) -> list[str] | None:
    fields = reading.fields
    interval = fields.optional_size("full_attention_interval")
    if not interval or not fields.value("linear_num_key_heads"):
        return None
    return ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(reading.num_layers)]


def _chunked(reading: Reading) -> list[str] | None:
    """llama4: layers with positions attend in chunks, those without attend to everything."""
    if not reading.fields.optional_size("attention_chunk_size"):
        return None
    return ["chunked_attention" if rotated else "full_attention" for rotated in with_positions(reading)]
