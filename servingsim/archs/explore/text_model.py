"""The text model inside a config: unwrapped from a model of several towers; what is no decoder is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.refusals import refuse_no_decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
"""Where wrapping configs keep the language model."""
TOWERS = {
    "vision_config": "vision tower",
    "visual": "vision tower",
    "vision_tower_config": "vision tower",
    "audio_config": "audio tower",
    "talker_config": "speech generator",
    "token2wav_config": "speech generator",
    "code_predictor_config": "speech generator",
}
MTP_FIELDS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules")
"""How configs count the layers that predict tokens beyond the next; they are no part of the decoder."""
MAX_DEPTH = 4


@dataclass(frozen=True)
class TextModel:
    """The part of a config that describes the decoder.

    Attributes:
        data: Its fields.
        outer: The whole config's fields where the text model is nested, else the same.
        text_of: The wrapping model's type, empty where nothing wraps it.
        left_out: Parts beside it, by name.
    """

    data: Mapping[str, Any]
    outer: Mapping[str, Any]
    text_of: str
    left_out: tuple[str, ...]


def text_model(data: Mapping[str, Any], where: str) -> TextModel:
    """Unwrap the decoder of a config.

    Raises:
        ServingSimError: An encoder, an encoder-decoder, or a config without a text model.
    """
    inner, towers = data, _towers(data)
    for _ in range(MAX_DEPTH):
        part = next(
            (inner[name] for name in TEXT_PARTS if isinstance(inner.get(name), dict) and inner[name]), None
        )
        if part is None:
            break
        inner = part
        towers += _towers(inner)
    refuse_no_decoder(data, where)
    refuse_no_decoder(inner, where)
    nested = inner is not data
    return TextModel(
        data=inner,
        outer=data,
        text_of=str(data.get("model_type", "unnamed"))[:80] if nested else "",
        left_out=tuple(dict.fromkeys([*towers, *_mtp(inner)])),
    )


def _towers(data: Mapping[str, Any]) -> list[str]:
    return [what for name, what in TOWERS.items() if isinstance(data.get(name), dict) and data[name]]


def _mtp(data: Mapping[str, Any]) -> list[str]:
    counts = [data.get(name) for name in MTP_FIELDS]
    found = next(
        (each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), 0
    )
    return [f"{found} multi-token-prediction layer{'s' if found > 1 else ''}"] if found else []
