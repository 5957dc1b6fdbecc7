"""The store's tables as data: one a kind, one of devices, one of host overheads.

A kind's table is unique on (device, backend, args fields in order); the other columns are the timing and its
provenance. NULL stands for "unknown" (a spread that was never measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args, get_origin

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.contract import KernelKind

APPLICATION_ID = 0x5353494D
"""Bytes 68 to 71 of every store file: "SSIM" in ASCII."""
SCHEMA_VERSION = 1
"""Bytes 60 to 63 of every store file; a newer one is refused."""

Columns = dict[str, type[int] | type[float] | type[str]]

ROUTING: Columns = {"device": str, "backend": str}
TIMING: Columns = {
    "median_ms": float, "p10_ms": float, "p90_ms": float, "cv": float, "samples": int, "outlier": int,
    "outlier_reason": str,
}  # fmt: skip
PROVENANCE: Columns = {
    "origin": str, "framework": str, "framework_version": str, "driver": str, "libraries": str, "source": str,
    "measured_at": str,
}  # fmt: skip
NULLABLE = {"p10_ms", "p90_ms", "cv"}
RESERVED_COLUMNS = frozenset({**ROUTING, **TIMING, **PROVENANCE})
"""What no args field may be called."""

DEVICES: Columns = {
    "name": str, "type": str, "memory_bytes": int, "peak_flops": str, "memory_bytes_per_s": float,
    "link_bytes_per_s": float, "last_level_cache_bytes": int, "multiprocessors": int, "threads": int,
    "driver": str, "libraries": str, "limits_origin": str, "source": str, "measured_at": str,
}  # fmt: skip
HOST: Columns = {
    "device": str, "stack": str, "per_iteration_ms": float, "per_layer_ms": float, "origin": str,
    "backend": str, "framework": str, "version": str, "source": str, "measured_at": str,
}  # fmt: skip
META_TABLES: dict[str, tuple[Columns, tuple[str, ...]]] = {
    "devices": (DEVICES, ("name",)),
    "host_overhead": (HOST, ("device", "stack")),
}
"""Tables beside the kinds', each with its columns and key."""


def key_columns(kind: KernelKind) -> tuple[str, ...]:
    """What a row is unique on."""
    return (*ROUTING, *kind.fields)


def kind_columns(kind: KernelKind) -> Columns:
    """All columns of a kind's table, in order.

    Raises:
        ServingSimError: E_STATE, when an args field is neither an integer, a float nor a string.
    """
    args = {name: _column_type(kind, name) for name in kind.fields}
    return {**ROUTING, **args, **TIMING, **PROVENANCE}


def _column_type(kind: KernelKind, name: str) -> type[int | float | str]:
    annotation: object = kind.args.model_fields[name].annotation
    if get_origin(annotation) is Literal:
        annotation = type(get_args(annotation)[0])
    if annotation is int:
        return int
    if annotation is float:
        return float
    if annotation is str:
        return str
    raise ServingSimError(
        f"args field {name!r} of {kind.name} is a {annotation}",
        code="E_STATE",
        known="int, float, str and Literal of these",
        hint="change the field's type",
    )
