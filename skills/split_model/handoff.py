"""Step 9: the kernels that are missing, largest share first, as arguments that wire_kernel takes as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skills.split_model.schema import HandOff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.schema import Row

SMOKE_SIZE = 256


@dataclass(frozen=True)
class Known:
    """What is known of a missing kernel beside its row.

    Attributes:
        backends: That can run it.
        family: Its metrics.
        order: Its args, in the order of the database key.
        smoke: A small spec that runs anywhere.
        constraints: In words.
    """

    backends: tuple[str, ...]
    family: str
    order: tuple[str, ...]
    smoke: dict[str, int | str]
    constraints: tuple[str, ...]


KNOWN = {
    "fused_add_rms_norm": Known(
        ("torch",),
        "memory",
        ("num_tokens", "hidden_size", "dtype"),
        {"num_tokens": 16, "hidden_size": SMOKE_SIZE, "dtype": "fp32"},
        (
            "residual + x is written back as the new residual, its RMSNorm as the output",
            "x, residual, weight and both results have one dtype",
        ),
    ),
}


def handoffs_of(rows: Sequence[Row]) -> list[HandOff]:
    """One for each missing kind, whatever number of rows wait for it."""
    kinds = dict.fromkeys(row.maps_to.kind for row in rows if row.verdict == "new_kernel")
    found = [_handoff(kind, [row for row in rows if _waits(row, kind)]) for kind in kinds]
    return sorted(found, key=lambda each: each.share, reverse=True)


def _waits(row: Row, kind: str) -> bool:
    return row.verdict == "new_kernel" and row.maps_to.kind == kind


def _handoff(kind: str, rows: list[Row]) -> HandOff:
    measured = all(row.measured_share is not None for row in rows)
    share = sum((row.measured_share if measured else row.estimated_share) or 0.0 for row in rows)
    share = round(min(share, 1.0), 6)
    known = KNOWN.get(kind) or _from_row(rows[0])
    dtypes = {name: role for role, name in (("compute", "dtype"), ("kv", "kv_dtype")) if name in known.order}
    handoff: dict[str, Any] = {
        "backends": list(known.backends),
        "args": list(known.order),
        "family": known.family,
        "dtype_fields": {role: name for name, role in dtypes.items()},
        "dtype_agnostic": not dtypes,
        "smoke": known.smoke,
        "constraints": list(known.constraints),
    }
    return HandOff(
        rows=[f"{row.layer_class}: {row.op}" for row in rows],
        share=share,
        share_is="measured" if measured else "estimated",
        call={"kind": kind, "handoff": handoff, "share": share},
    )


def _from_row(row: Row) -> Known:
    """Of a kernel that an agent proposed: the args of what prices it until then; torch stands in for the backend."""
    order = (*row.maps_to.axes, *row.maps_to.args)
    smoke: dict[str, int | str] = dict.fromkeys(row.maps_to.axes, 16)
    smoke |= {name: value for name, value in row.maps_to.args.items() if isinstance(value, (int, str))}
    attention = row.maps_to.until_then.startswith("attention")
    family = "attention" if attention else "compute" if row.maps_to.until_then == "single_gemm" else "memory"
    return Known(("torch",), family, order, smoke, (row.why,))
