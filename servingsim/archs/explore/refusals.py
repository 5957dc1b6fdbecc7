"""What is no decoder, or has a part that the facts cannot say, is refused by name before its fields can confuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.model_types import ENCODERS, UNDESCRIBED
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

ENCODER_FIELDS = ("is_encoder_decoder", "encoder_layers", "num_encoder_layers", "encoder_attention_heads")
DECODERS = "decoder-only models: causal language models, and the text model of several towers"
DESCRIBED = "softmax, latent and gated-delta attention, Mamba-2; dense MLPs and routed experts"


def refuse_no_decoder(data: Mapping[str, Any], where: str) -> None:
    """Refuse an encoder, an encoder-decoder and a decoder that cannot be described.

    Raises:
        ServingSimError: With the field that says so.
    """
    model_type = data.get("model_type")
    said = next((name for name in ENCODER_FIELDS if data.get(name)), None)
    if said:
        what = f"model_type {shown(model_type)} with {said} {shown(data[said])} has an encoder"
        raise ServingSimError(what, known=DECODERS, path=where)
    if not isinstance(model_type, str):
        return
    if model_type.lower() in ENCODERS:
        raise ServingSimError(f"model_type {shown(model_type)} is an encoder", known=DECODERS, path=where)
    missing = UNDESCRIBED.get(model_type.lower())
    if missing:
        raise ServingSimError(
            f"model_type {shown(model_type)} has {missing}, which no layer class stands for",
            known=DESCRIBED,
            hint="describe it in servingsim.archs.model_facts, then in servingsim/archs/explore",
            path=where,
        )
