"""What the whole model and its text model may each say: one of them goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.hf_config import DTYPES
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.archs.explore.context import Reading
    from servingsim.archs.explore.text_model import TextModel
    from servingsim.timing.contract import Dtype


def tied_embeddings(found: TextModel, reading: Reading) -> bool:
    """The whole model's word goes before the text model's; a type's default before nothing."""
    outer: Mapping[str, Any] = found.outer
    if isinstance(outer.get("tie_word_embeddings"), bool):
        return bool(outer["tie_word_embeddings"])
    if reading.fields.value("tie_word_embeddings") is None:
        reading.miss("tied_embeddings")
    return reading.fields.flag("tie_word_embeddings")


def stated_dtype(found: TextModel, defaults: Mapping[str, Any], where: str) -> Dtype:
    """`dtype` is the newer name of `torch_dtype`; the text model's word goes before the whole model's."""
    for data in (found.data, found.outer, defaults):
        given = {
            str(data[name]).removeprefix("torch.") for name in ("dtype", "torch_dtype") if data.get(name)
        }
        if len(given) == 1 and given <= set(DTYPES):
            return DTYPES[given.pop()]
        if given:
            raise ServingSimError(
                f"dtype {shown(sorted(given))}",
                known=f"one of {', '.join(DTYPES)}",
                hint="or choose one with --dtype",
                path=where,
            )
    raise ServingSimError(
        "dtype: missing", known=f"one of {', '.join(DTYPES)}", hint="or choose one with --dtype", path=where
    )
