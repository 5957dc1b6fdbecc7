"""Which Config fields of a kernel hold a dtype, by role: what decides whether a backend can run it (R.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from servingsim.timing.contract import DtypeTag

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelKind


def dtype_tags(kind: KernelKind[Any, Any]) -> dict[Literal["compute", "kv"], str]:
    """Tagged Config fields, `{"compute": field, "kv": field}`; empty where the kind is dtype-agnostic."""
    return {
        tag.role: name
        for name, field in kind.config.model_fields.items()
        for tag in field.metadata
        if isinstance(tag, DtypeTag)
    }
