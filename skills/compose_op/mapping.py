"""Which field of the op's Config becomes which field of a kernel's, declared or by equal names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeOpIn, SubKernel

DEVICE = "gpu_name"
"""Explicit in every op's Config and baked into each of its kernels."""


def resolved(request: ComposeOpIn, survey: dict[str, Any]) -> ComposeOpIn:
    """The request with every mapping in full: equal names and the device are written out."""
    outer = {*config_fields(request)}
    subs = [
        sub.model_copy(update={"config": _full(sub, survey["kinds"][sub.kind]["fields"], outer)})
        if sub.kind in survey["kinds"]
        else sub
        for sub in request.sub_kernels
    ]
    return request.model_copy(update={"sub_kernels": subs})


def config_fields(request: ComposeOpIn) -> list[str]:
    """The op's Config fields: the device first, then as declared (or as the example shows), then as mapped."""
    mapped = [outer for sub in request.sub_kernels for outer in sub.config]
    return list(dict.fromkeys([DEVICE, *(request.config_fields or request.config_example), *mapped]))


def _full(sub: SubKernel, fields: dict[str, Any], outer: set[str]) -> dict[str, str]:
    taken = set(sub.config.values())
    same = {name: name for name in fields if name in outer and name not in sub.config and name not in taken}
    return same | sub.config
