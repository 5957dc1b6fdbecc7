"""Which known model type a config belongs to: its own, its text model's, or the one whose code it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.model_types import TRAITS

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
"""Ends of the class names in `architectures`."""


def known_type(model_type: str, data: Mapping[str, Any]) -> str:
    """The type whose traits hold; the given one where none does.

    A checkpoint under a name of its own may say that another type's class runs it (`DeepseekV3ForCausalLM`).
    """
    for name in (model_type, f"{model_type}_text"):
        if name in TRAITS:
            return name
    names = data.get("architectures")
    classes = [each for each in names if isinstance(each, str)] if isinstance(names, list) else []
    stems = {each.removesuffix(head).lower() for each in classes for head in HEADS if each.endswith(head)}
    return next((name for name in TRAITS if name.replace("_", "") in stems), model_type)
