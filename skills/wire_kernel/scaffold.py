"""The draft: a kernel file and focused tests from the hand-off and the agreed shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.wire_kernel import snapshot

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.wire_kernel.agreed import Agreed
    from skills.wire_kernel.schema import WireRequest


def write_draft(
    request: WireRequest, shape: Agreed, cache: str, measured: dict[str, Any], desk: Desk
) -> None:
    """Write both files; neither where one of them is there and overwrite is not asked for.

    Raises:
        ServingSimError: E_STATE, a file is there, or the work model cannot be carried over.
    """
    folder = snapshot.test_folder(desk, request.kind)
    texts = {
        snapshot.kernel_path(desk, request.kind): _kernel(request, shape, cache, measured),
        folder / f"test_{request.kind}.py": _tests(request, shape, cache, measured),
    }
    there = [path for path in texts if path.exists()]
    if there and not request.overwrite:
        raise ServingSimError(
            f"{there[0].name} is there",
            code="E_STATE",
            path=str(there[0]),
            hint="check it, or overwrite: true",
        )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text(text)
        draft.replace(path)


def _field(name: str, request: WireRequest, shape: Agreed, measured: dict[str, Any]) -> str:
    schema = measured["schema"].get(name, {})
    roles = {field: role for role, field in measured["dtype_fields"].items()}
    if name in roles:
        return f"    {name}: Annotated[Dtype, {roles[name].upper()}_DTYPE]"
    if "enum" in schema:
        return f"    {name}: Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    if schema.get("type") == "string":
        return f"    {name}: str"
    low, high = schema.get("minimum", 1), schema.get("maximum", 2**40)
    default = f" = {shape.config[name]}" if name in shape.config and name not in request.handoff.args else ""
    return f"    {name}: Annotated[int, Field(strict=True, ge={low}, le={high})]{default}"


def _kernel(request: WireRequest, shape: Agreed, cache: str, measured: dict[str, Any]) -> str:
    asked, kind, work = request.shape, request.kind, measured["work"]
    if "blocker" in work:
        raise ServingSimError(
            f"the work model cannot be carried over: {work['blocker']}",
            code="E_STATE",
            hint="write it with servingsim.timing.work.amount only",
        )
    if "module" in work:
        source, imports = "", f"from {work['module']} import {work['name']}\n"
    else:
        source = f"\n\n{work['text'].strip()}\n"
        imports = f"from servingsim.timing.work.amount import {', '.join(work['imports'])}\n"
    values = {axis: sorted(set(asked.grid[axis])) for axis in asked.axes}
    rows = ", ".join(
        f"up_to(config.max_{axis}, {values[axis]})"
        if f"max_{axis}" in asked.config_fields
        else f"{tuple(values[axis])}"
        for axis in asked.axes
    )
    config_names = {name: f"config.{name}" for name in asked.config_fields}
    parts, extra = [], ""
    unpack = f"    {', '.join(asked.axes)}{',' if len(asked.axes) == 1 else ''} = coords\n"
    if shape.mask:
        parts.append(
            f"def _feasible(config: Config, coords: Coords) -> bool:\n{unpack}"
            f"    return bool({shape.mask.renamed(config_names)})\n"
        )
        extra += "    feasible=_feasible,\n"
    if shape.project:
        calls = {name: f"call.{name}" for name in asked.input_fields} | config_names
        to = ", ".join(f"float({shape.project[axis].renamed(calls)})" for axis in asked.axes)
        back = ", ".join(
            f"{name}=round({shape.invert[name].renamed(config_names)})" for name in asked.input_fields
        )
        parts.append(f"def _project(config: Config, call: Input) -> Coords:\n    return ({to},)\n")
        parts.append(
            f"def _invert(config: Config, coords: Coords) -> Input:\n{unpack}    return Input({back})\n"
        )
        extra += "    reaxis=Reaxis(_project, _invert),\n"
    if asked.profile_kind:
        extra += f"    profile_kind={json.dumps(asked.profile_kind)},\n"
    fields = "\n".join(_field(name, request, shape, measured) for name in asked.config_fields)
    inputs = "\n".join(_field(name, request, shape, measured) for name in asked.input_fields)
    functions = "".join(f"\n\n{part}" for part in parts)
    return f'''"""`{kind}` as the simulator asks for it."""

from __future__ import annotations

from typing import Annotated, Literal  # noqa: F401

from pydantic import Field

from servingsim.timing.contract import (  # noqa: F401
    COMPUTE_DTYPE, KV_DTYPE, Coords, Dtype, KernelConfig, KernelInput, KernelKind, Reaxis,
)
from servingsim.timing.grid import up_to  # noqa: F401
{imports}

class Config(KernelConfig):
    """What is static in a model."""

{fields}


class Input(KernelInput):
    """One call."""

{inputs}


def _grid(config: Config) -> tuple[tuple[int, ...], ...]:
    return ({rows},)
{source}{functions}

KERNEL = KernelKind(
    kind={json.dumps(kind)},
    config=Config,
    input=Input,
    axes={tuple(asked.axes)!r},
    args={tuple(measured["fields"])!r},
    sweep_grid=_grid,
    work_model={work["name"]},
    cache={json.dumps(cache)},
{extra})
'''


def _tests(request: WireRequest, shape: Agreed, cache: str, measured: dict[str, Any]) -> str:
    cells = shape.feasible_cells()
    first, middle = cells[0], cells[len(cells) // 2]
    swept = dict(zip(shape.axes, first, strict=True))
    payload = {name: swept.get(name, shape.config.get(name)) for name in measured["fields"]}
    at = shape.config | dict(zip(shape.axes, middle, strict=True))
    call = {
        name: round(shape.invert[name].value(at)) if shape.invert else at[name]
        for name in request.shape.input_fields
    }
    config = {"gpu_name": "a device", **shape.config, "backends": (request.handoff.backends[0],)}
    return f'''"""The physical mapping of `{request.kind}`."""

from __future__ import annotations

from typing import Any

from servingsim.timing.registry import kernels

CONFIG: dict[str, Any] = {config!r}


def test_a_row_is_asked_for_by_the_profilers_args() -> None:
    """Defect: a payload that misses a field or adds one finds no row."""
    kind = kernels()[{request.kind!r}]
    emitted = next(iter(kind.enumerate(kind.config(**CONFIG))))
    assert emitted == {payload | {"backend": request.handoff.backends[0]}!r}


def test_a_call_is_its_coordinate_and_comes_back_from_it() -> None:
    """Defect: a shifted projection or inverse reads a neighbour's time."""
    kind = kernels()[{request.kind!r}]
    config, call = kind.config(**CONFIG), kind.input(**{call!r})
    assert kind.project(config, call) == {tuple(float(x) for x in middle)!r}
    assert kind.invert(config, {middle!r}) == call


def test_the_grid_and_cache_are_the_agreed_ones() -> None:
    """Defect: a grid that ends earlier extrapolates, another cache reads rows otherwise."""
    kind = kernels()[{request.kind!r}]
    assert kind.sweep_grid(kind.config(**CONFIG)) == {shape.values!r}
    assert kind.cache == {cache!r}
'''
