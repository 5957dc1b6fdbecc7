"""A config.json to `ModelFacts`: unwrap, read each layer's mixer and MLP, class them, and say what was not said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.classes import layer_classes
from servingsim.archs.explore.context import Reading
from servingsim.archs.explore.defaults import type_defaults
from servingsim.archs.explore.extras import outside_parameters
from servingsim.archs.explore.fields import Fields
from servingsim.archs.explore.flatten import plain
from servingsim.archs.explore.kinship import known_type
from servingsim.archs.explore.layers import num_layers, read_layers
from servingsim.archs.explore.model_types import TRAITS
from servingsim.archs.explore.quantisation import quantisation
from servingsim.archs.explore.text_model import TextModel, text_model
from servingsim.archs.explore.traits import UNKNOWN
from servingsim.archs.explore.unread import unread_fields
from servingsim.archs.explore.whole_model import stated_dtype, tied_embeddings
from servingsim.archs.hf_config import json_object
from servingsim.archs.model_facts import LatentAttention, LinearAttention, Mamba2, ModelFacts, MoeMlp
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from servingsim.archs.model_facts import LayerClass
    from servingsim.timing.contract import Dtype

QUANT_FILE = "hf_quant_config.json"


def read_model(path: Path, *, dtype: Dtype | None = None) -> ModelFacts:
    """The facts of the model whose config.json (or whose folder) is given.

    Args:
        path: A config.json, or the folder that holds one; an `hf_quant_config.json` beside it is read, too.
        dtype: Takes the place of the config's dtype.

    Raises:
        ServingSimError: Not a file, not JSON, no decoder, or a field that is missing or out of range.
    """
    file = path / "config.json" if path.is_dir() else path
    beside = file.parent / QUANT_FILE
    hf_quant = json_object(beside) if beside.is_file() and beside != file else None
    return model_facts(json_object(file), where=str(file), dtype=dtype, hf_quant=hf_quant)


def model_facts(
    data: dict[str, Any], *, where: str, dtype: Dtype | None = None, hf_quant: dict[str, Any] | None = None
) -> ModelFacts:
    """The facts that a decoded config states; see `read_model`.

    Args:
        data: The decoded config.json.
        where: What it is, for messages.
        dtype: Takes the place of the config's dtype.
        hf_quant: The decoded hf_quant_config.json, where one lies beside it.
    """
    found = text_model(data, where)
    reading = _reading(found, where)
    fields = reading.fields
    reading.num_layers = num_layers(reading)
    hidden_size, vocab_size = fields.size("hidden_size"), fields.size("vocab_size")
    own_dtype = dtype or stated_dtype(found, reading.traits.defaults, where)
    quantised = found.outer.get("quantization_config") or found.data.get("quantization_config")
    quant = quantisation(quantised, hf_quant, dtype=own_dtype, where=where)
    if quant.caveat:
        reading.unknown.append(quant.caveat)
    layers = layer_classes(read_layers(reading))
    positions = fields.optional_size("max_positions", most=2**32)
    if not positions:
        reading.miss("max_positions")
    tied = tied_embeddings(found, reading)
    outside = outside_parameters(reading)
    if not reading.traits.known:
        reading.unknown += [each for each in ("gated", unread_fields(reading)) if each]
    return ModelFacts(
        model_type=_named(found, reading),
        family=_family(layers),
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        tied_embeddings=tied,
        max_positions=positions or 0,
        dtype=own_dtype,
        gemm_dtype=quant.gemm_dtype,
        quantisation=quant.words,
        kv_dtype=quant.kv_dtype or own_dtype,
        layers=layers,
        norm=reading.traits.norm,
        lm_head_bias=reading.trait("lm_head_bias") if reading.traits.known else fields.flag("lm_head_bias"),
        norm_bias=reading.traits.norm_bias,
        outside_parameters=outside,
        unquantised=quant.unquantised,
        text_of=found.text_of,
        left_out=found.left_out,
        unknown=tuple(reading.unknown),
    )


def _reading(found: TextModel, where: str) -> Reading:
    """The text model's type decides; a wrapper's type serves where the nested one has none."""
    given = found.data.get("model_type") or found.outer.get("model_type")
    if not isinstance(given, str) or not given:
        said = f"model_type: {shown(given)}" if given is not None else "model_type: missing"
        raise ServingSimError(said, known="a string, as in the checkpoint's config.json", path=where)
    model_type = known_type(given, found.data)
    nested = bool(found.text_of)
    traits = TRAITS.get(model_type, UNKNOWN)
    defaults = {**type_defaults(traits.like or model_type, nested=nested), **traits.defaults}
    return Reading(model_type, Fields(plain(found.data), where=where, defaults=defaults), traits)


def _named(found: TextModel, reading: Reading) -> str:
    """The config's own name for it; a nested or flat text model goes by its text type."""
    given = str(found.data.get("model_type") or reading.model_type)
    return reading.model_type if reading.model_type.startswith(given) else given


def _family(layers: Sequence[LayerClass]) -> str:
    moe = any(isinstance(each.mlp, MoeMlp) for each in layers)
    if any(isinstance(each.mixer, LinearAttention | Mamba2) for each in layers):
        return "hybrid_moe" if moe else "hybrid"
    if any(isinstance(each.mixer, LatentAttention) for each in layers):
        return "mla_moe" if moe else "mla"
    return "moe" if moe else "dense"
