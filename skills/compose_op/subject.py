"""The process that may import kernels and ops of the workspace: it answers the skill's questions as plain data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from servingsim.timing.dtype_tags import dtype_tags
from servingsim.timing.registry import kernels
from servingsim.timing.slot_inputs import SLOT_INPUTS
from skills.compose_op.columns import columns_of
from skills.compose_op.examine import examine
from skills.compose_op.price import price_atomic
from skills.subject import serve

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelKind


def survey(request: dict[str, Any]) -> dict[str, Any]:
    """What the named kernels and the slot inputs are: `kinds` by name (absent where unknown), `slot_inputs`."""
    known = kernels()
    return {
        "kinds": {name: _described(known[name]) for name in request["kinds"] if name in known},
        "known": list(known),
        "slot_inputs": {
            each.name: {"axes": list(each.axes), "columns": columns_of(each), "constant": each.name.upper()}
            for each in SLOT_INPUTS
        },
    }


def _described(kind: KernelKind[Any, Any]) -> dict[str, Any]:
    dtypes = set(dtype_tags(kind).values())
    return {
        "axes": list(kind.axes),
        "over_link": kind.over_link,
        "config": kind.config.__name__,
        "fields": {
            name: {"type": _type_text(name, field.annotation, dtypes), "required": field.is_required()}
            for name, field in kind.config.model_fields.items()
        },
    }


def _type_text(name: str, annotation: Any, dtypes: set[str]) -> str:  # noqa: ANN401 - any annotation
    if name in dtypes:
        return "Dtype"
    if annotation in (int, float, bool):
        return str(annotation.__name__)
    return "tuple[str, ...]" if name == "backends" else "str"


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    serve({"survey": survey, "examine": examine, "price_atomic": price_atomic})
