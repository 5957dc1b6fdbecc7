"""What a model type's own config class makes an absent field mean, extracted from Transformers."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

ESSENTIAL = frozenset(
    (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "moe_intermediate_size",
        "num_experts_per_tok",
        "kv_lora_rank",
    )
)
"""A checkpoint's own config always states them: absent, the file is damaged, and a default would hide it."""


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath("class_defaults.json").read_text(encoding="utf-8")
    )
    return found


def type_defaults(model_type: str, *, nested: bool) -> dict[str, Any]:
    """The defaults of a type; a nested text model is saved as its differences, so it gets the essential ones, too."""
    found = _table().get(model_type, {})
    return {name: value for name, value in found.items() if nested or name not in ESSENTIAL}
