"""Write a compound op and its unit tests; both or neither, and never over a file unless that is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.compose_op import templates
from skills.compose_op.mapping import config_fields
from skills.compose_op.places import new_places

if TYPE_CHECKING:
    from pathlib import Path

    from skills.compose_op.places import Places
    from skills.compose_op.schema import ComposeOpIn
    from skills.desk import Desk


def scaffold(request: ComposeOpIn, survey: dict[str, Any], desk: Desk) -> Places:
    """Write `<ws>/servingsim/ops/<family>/<name>.py` and its tests.

    Raises:
        ServingSimError: E_INPUT, the example lacks a field of the Config, or a kernel's field has no source;
            E_STATE, a file is there already and `overwrite` is not set. Nothing is written then.
    """
    places = new_places(request, desk)
    _refuse_gaps(request, survey)
    texts = {
        places.code: templates.op(request, survey),
        places.tests[0]: templates.tests(request, survey),
    }
    there = [path for path in texts if path.exists()]
    if there and not request.overwrite:
        raise ServingSimError(
            "is there already",
            code="E_STATE",
            path=str(there[0]),
            hint="check it with mode check, or set overwrite",
        )
    for path, text in texts.items():
        _replace(path, text)
    return places


def _refuse_gaps(request: ComposeOpIn, survey: dict[str, Any]) -> None:
    absent = [name for name in config_fields(request) if name not in request.config_example]
    if absent:
        raise ServingSimError(
            f"config_example has no {', '.join(absent)}",
            path="config_example",
            hint="give a valid Config: tests and checks are made from it",
        )
    for sub in request.sub_kernels:
        fields = survey["kinds"][sub.kind]["fields"]
        mapped = set(sub.config.values())
        unknown = sorted(mapped - set(fields))
        missing = [name for name, each in fields.items() if each["required"] and name not in mapped]
        if unknown or missing:
            raise ServingSimError(
                f"{sub.slot}: {sub.kind} has no field {', '.join(unknown)}"
                if unknown
                else f"{sub.slot}: nothing says what {', '.join(missing)} of {sub.kind} is",
                path="sub_kernels.config",
                known=", ".join(fields),
                hint="map a field of the op's Config to it",
            )


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
