"""Layers of equal cost as one class, named after what tells it apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import LayerClass, LinearAttention, Mamba2, MoeMlp, SoftmaxAttention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.model_facts import Mixer, Mlp


@dataclass(frozen=True)
class Layer:
    """One layer before it is classed; fields as in `LayerClass`."""

    mixer: Mixer | None
    mlp: Mlp | None
    norms: int
    extra_parameters: int


def layer_classes(layers: Sequence[Layer]) -> tuple[LayerClass, ...]:
    """The classes, in the order of their first layer."""
    found: dict[Layer, list[int]] = {}
    for index, layer in enumerate(layers):
        found.setdefault(layer, []).append(index)
    names = _names(list(found))
    return tuple(
        LayerClass(name, tuple(indices), layer.mixer, layer.mlp, layer.norms, layer.extra_parameters)
        for name, (layer, indices) in zip(names, found.items(), strict=True)
    )


def _names(layers: list[Layer]) -> list[str]:
    if len(layers) == 1:
        return ["layers"]
    sparse = any(isinstance(each.mlp, MoeMlp) for each in layers)
    names: list[str] = []
    for layer in layers:
        name = "_".join([*_words(layer, sparse=sparse), "layers"])
        again = sum(1 for each in names if each == name or each.startswith(f"{name}_"))
        # Letters: a number would read as a layer's index.
        names.append(f"{name}_{_letters(again)}" if again else name)
    return names


def _letters(ordinal: int) -> str:
    """`b` for the second, and so on; `bb` after `z`."""
    rest, place = divmod(ordinal, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + place)


def _words(layer: Layer, *, sparse: bool) -> list[str]:
    words = [_mixer_word(layer)] if _mixer_word(layer) else []
    if isinstance(layer.mlp, MoeMlp):
        words.append("moe")
    elif layer.mlp is not None and (sparse or layer.mixer is None):
        words.append("dense")
    return words


def _mixer_word(layer: Layer) -> str:
    if isinstance(layer.mixer, SoftmaxAttention) and layer.mixer.window_size:
        return "chunked" if layer.mixer.chunked else "sliding"
    if isinstance(layer.mixer, LinearAttention):
        return "linear"
    if isinstance(layer.mixer, Mamba2):
        return "mamba"
    return "attention" if layer.mlp is None else ""
