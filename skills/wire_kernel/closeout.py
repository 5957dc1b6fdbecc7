"""What the closeout says about a kernel, from the facts that were measured: for the report, and to check one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skills.wire_kernel import snapshot

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.wire_kernel.agreed import Agreed
    from skills.wire_kernel.schema import WireReport, WireRequest


def statements(
    request: WireRequest, shape: Agreed | None, cache: str, facts: dict[str, Any], desk: Desk
) -> dict[str, Any]:
    """Fields of the report. Without facts, of a kernel that does not stand yet, what was agreed."""
    grid = dict(zip(shape.axes, shape.values, strict=True)) if shape else {}
    agreed_count = len(shape.feasible_cells()) if shape and not facts else 0
    return {
        "kind": request.kind,
        "table": request.shape.profile_kind or request.kind,
        "config_fields": facts.get("config_fields", request.shape.config_fields),
        "input_fields": facts.get("input_fields", request.shape.input_fields),
        "payload_fields": [*facts["args"], "backend"] if facts else [],
        "dtype_tags": facts.get("dtype_tags", request.handoff.dtype_fields),
        "cache": cache,
        "grid": {axis: [len(values), values[0], values[-1]] for axis, values in grid.items()},
        "feasible_count": facts.get("feasible_count", agreed_count),
        "mask": request.shape.mask,
        "slot_input": request.shape.slot_input,
        "files": snapshot.owned(desk, request.kind),
    }


def contradictions(report: WireReport, stated: dict[str, Any]) -> list[str]:
    """Fields in which a report says something else than what is so."""
    return [
        f"{name}: it says {getattr(report, name)}, there is {value}"
        for name, value in stated.items()
        if getattr(report, name) != value
    ]
