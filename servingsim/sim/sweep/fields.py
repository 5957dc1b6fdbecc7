"""Fields of a deployment and its traffic by name: `deployment.pools.*.tp`, or `tp` where only one is called so."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from servingsim.errors import ServingSimError
from servingsim.sim.serving.deployment import Deployment
from servingsim.sim.workload.spec import WorkloadSpec
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOTS: dict[str, type[BaseModel]] = {"deployment": Deployment, "workload": WorkloadSpec}
EVERY = "*"


@cache
def all_fields() -> tuple[str, ...]:
    """Every field that can be set, pools as `*`."""
    return tuple(name for root, model in ROOTS.items() for name in _fields(model, root))


def resolved(name: str) -> str:
    """The whole name of a field.

    Args:
        name: Whole, or its last parts where no other field ends in them; a number for one pool of several.

    Raises:
        ServingSimError: No field is called so, or several are.
    """
    starred = ".".join(EVERY if part.isdecimal() else part for part in name.split("."))
    known = all_fields()
    if starred in known:
        return name
    ending = [each for each in known if each.endswith(f".{starred}")]
    if len(ending) == 1:
        return ending[0].removesuffix(starred) + name
    if ending:
        raise ServingSimError(
            f"several fields are called {name!r}", known=", ".join(ending), hint="give one whole name"
        )
    last = {each.rpartition(".")[2]: each for each in known}
    nearest = did_you_mean(name, known) or did_you_mean(name.rpartition(".")[2], last)
    raise ServingSimError(
        f"no field {shown(name)}", known=f"{len(known)} fields of deployment and workload", hint=nearest
    )


def put(data: dict[str, Any], name: str, value: object) -> None:
    """Set a field in the data of both models, in every pool where the name says so.

    Raises:
        ServingSimError: A pool that is not there.
    """
    head, _, rest = name.partition(".")
    if not rest:
        data[head] = value
        return
    inner = data.get(head)
    if isinstance(inner, list):
        which, _, rest = rest.partition(".")
        for place in _places(which, inner, name):
            if rest:
                put(inner[place], rest, value)
            else:
                inner[place] = value
        return
    if inner is None:
        data[head] = inner = {}
    put(inner, rest, value)


def _places(which: str, items: list[Any], name: str) -> list[int]:
    if which == EVERY:
        return list(range(len(items)))
    if int(which) >= len(items):
        raise ServingSimError(f"no item {which} in {name!r}", known=f"{len(items)}, from 0")
    return [int(which)]


def _fields(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        whole = f"{prefix}.{name}"
        if inner is None:
            yield whole
            continue
        if _is_tuple(field.annotation):
            whole = f"{whole}.{EVERY}"
        yield whole
        yield from _fields(inner, whole)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each)) is not None), None)


def _is_tuple(annotation: object) -> bool:
    return getattr(annotation, "__origin__", None) is tuple
