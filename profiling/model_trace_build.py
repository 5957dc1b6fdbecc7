"""A config's text model on the meta device: no weight is allocated. Imported in the trace worker only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
LEFT_OUT = ("quantization_config", "compression_config", "auto_map", "torch_dtype", "dtype", "_name_or_path")
"""Says how weights are stored and by whose code they are read, not what is computed."""


@dataclass(frozen=True)
class Built:
    """A model that runs on shapes alone.

    Attributes:
        model: On the meta device, for evaluation.
        config: Of its text model.
        whole: Whether all of the model is text; else other towers hang beside it.
    """

    model: Any
    config: Any
    whole: bool


def build(config: dict[str, Any], dtype: str) -> Built:
    """Build what a config describes.

    Raises:
        ValueError: Where Transformers knows neither its model type nor its architecture.
    """
    known = _configured(_plain(config))
    text = known.get_text_config(decoder=True)
    causal, towers = (each._model_mapping for each in (AutoModelForCausalLM, AutoModelForImageTextToText))  # noqa: SLF001 - no public list
    if type(text) in causal:
        return _on_meta(AutoModelForCausalLM, text, text, dtype, whole=True)
    if type(known) in causal and causal[type(known)].config_class is type(text):
        return _on_meta(causal[type(known)], text, text, dtype, whole=True)
    if type(known) in causal:
        return _on_meta(AutoModelForCausalLM, known, text, dtype, whole=type(known) is type(text))
    if type(known) in towers:
        return _on_meta(AutoModelForImageTextToText, known, text, dtype, whole=False)
    raise ValueError(
        f"transformers {transformers.__version__} has no causal language model for {known.model_type!r}"
    )


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in config.items() if key not in LEFT_OUT}
    return {key: _plain(value) if key == "text_config" and value else value for key, value in kept.items()}


def _configured(config: dict[str, Any]) -> Any:  # noqa: ANN401 - a transformers config
    """By model type; else by the architecture that the config itself names."""
    model_type = str(config.get("model_type", ""))
    if model_type in CONFIG_MAPPING:
        return CONFIG_MAPPING[model_type].from_dict(config)
    for name in config.get("architectures") or ():
        config_class = getattr(getattr(transformers, str(name), None), "config_class", None)
        if config_class is not None:
            return config_class.from_dict(config | {"model_type": config_class.model_type})
    names = ", ".join(map(str, config.get("architectures") or ())) or "none"
    raise ValueError(
        f"transformers {transformers.__version__} knows no model type {model_type!r} (architectures: {names})"
    )


def _on_meta(auto: Any, config: Any, text: Any, dtype: str, *, whole: bool) -> Built:  # noqa: ANN401 - transformers
    if getattr(text, "is_decoder", True) is False:
        text.is_decoder = True
    with torch.device("meta"):
        made = getattr(auto, "from_config", None) or auto._from_config  # noqa: SLF001 - what the former calls
        model = made(config, dtype=DTYPES[dtype])
    _move(model, DTYPES[dtype])
    model.tie_weights()
    return Built(model.eval(), text, whole)


def _move(model: Any, dtype: torch.dtype) -> None:  # noqa: ANN401 - a transformers model
    """Old modules make their weights by a constructor that knows neither device nor dtype: those follow."""
    for module in model.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.device.type != "meta":
                made = torch.empty_like(weight, device="meta", dtype=dtype)
                setattr(module, name, torch.nn.Parameter(made, requires_grad=False))


def model_types() -> dict[str, str]:
    """Every model type with a causal language model: `decoder`, `encoder` or `encoder_decoder` by what else it has."""
    causal, masked, translating = (
        each._model_mapping  # noqa: SLF001 - no public list
        for each in (AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM)
    )
    names = {config_class.model_type: config_class for config_class in causal}
    return {
        name: "encoder_decoder" if each in translating else "encoder" if each in masked else "decoder"
        for name, each in sorted(names.items())
    }
