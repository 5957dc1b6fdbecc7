"""Which layers see a window only, and which have positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading

LETTERS = {"L": "sliding_attention", "G": "full_attention"}
"""Of a pattern written as text."""


def sliding_types(reading: Reading) -> list[str]:
    """From `sliding_window` alone, as the model type uses it."""
    fields, count, rule = reading.fields, reading.num_layers, reading.traits.window
    if rule == "never" or not fields.optional_size("window"):
        return ["full_attention"] * count
    if rule == "always":
        return ["sliding_attention"] * count
    if rule == "switched":
        first = fields.optional_size("max_window_layers") or 0
        slides = fields.flag("use_sliding_window")
        return ["sliding_attention" if slides and i >= first else "full_attention" for i in range(count)]
    return _by_pattern(reading)


def _by_pattern(reading: Reading) -> list[str]:
    fields, count = reading.fields, reading.num_layers
    pattern = fields.value("window_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= set(LETTERS):
        # The last layer attends to everything, whatever the pattern says.
        return [LETTERS[pattern[i % len(pattern)] if i < count - 1 else "G"] for i in range(count)]
    step = fields.optional_size("window_pattern") or reading.traits.pattern
    if not step:
        reading.miss("layer_types")
        return ["full_attention"] * count
    # A period ends with full attention; gpt_oss, of period 2, begins with a window just so.
    return ["sliding_attention" if (i + 1) % step else "full_attention" for i in range(count)]


def reachable(reading: Reading, types: list[str]) -> list[str]:
    """A window that no context can outgrow cuts nothing."""
    fields = reading.fields
    longest = fields.optional_size("max_positions", most=2**32) or 0
    names = {"sliding_attention": "window", "chunked_attention": "attention_chunk_size"}
    idle = {kind for kind, name in names.items() if kind in types and 0 < longest <= fields.size(name)}
    return ["full_attention" if each in idle else each for each in types]


def with_positions(reading: Reading) -> list[bool]:
    """Whether each layer rotates: `no_rope_layers` (1: it does), or all but every so many."""
    fields, count = reading.fields, reading.num_layers
    said = fields.text("position_embedding_type")
    rotates = said == "rope" if said else reading.traits.rope
    if (
        reading.traits.positions is not None
        or fields.flag("alibi")
        or not fields.flag("use_rope", default=True)
    ):
        rotates = False
    if not rotates:
        return [False] * count
    listed = fields.items("no_rope_layers")
    if listed:
        return [i >= len(listed) or bool(listed[i]) for i in range(count)]
    usual = 4 if reading.model_type == "llama4_text" else 0
    interval = fields.optional_size("no_rope_layer_interval") or usual
    return [not interval or bool((i + 1) % interval) for i in range(count)]
