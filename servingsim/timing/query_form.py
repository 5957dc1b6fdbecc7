"""The form of a kernel query: a JSON object with an `op`, checked to its last Input before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from servingsim.errors import ServingSimError
from servingsim.timing import registry
from servingsim.timing.contract import KernelConfig, KernelInput, KernelKind
from servingsim.timing.coverage import OnMissing
from servingsim.validation import did_you_mean, parse, shown

MAX_INPUTS = 10_000
"""Inputs of one eval query."""
ANY_DEVICE = "any device"
"""Stands for `gpu_name` in a `grid` query: a grid does not depend on it."""

Kind = KernelKind[Any, Any]


@dataclass(frozen=True)
class ListQuery:
    """The kinds to describe."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class GridQuery:
    """The grid that one resolved Config is profiled on."""

    kind: Kind
    config: KernelConfig


@dataclass(frozen=True)
class EvalQuery:
    """What given shapes cost on a device; `db` is the database that the query names, if it does."""

    kind: Kind
    config: KernelConfig
    inputs: tuple[KernelInput, ...]
    on_missing: OnMissing
    db: str | None


Query = ListQuery | GridQuery | EvalQuery


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _ListForm(_Form):
    op: Literal["list"]
    kind: str | None = Field(None, description="one kind; all without it")


class _GridForm(_Form):
    op: Literal["grid"]
    kind: str = Field(description="kernel kind, as `list` names it")
    config: dict[str, Any] = Field(description="fields of the kind's Config; gpu_name may be left out")


class _EvalForm(_Form):
    op: Literal["eval"]
    kind: str = Field(description="kernel kind, as `list` names it")
    config: dict[str, Any] = Field(description="fields of the kind's Config")
    inputs: list[dict[str, Any]] = Field(
        description="Inputs of the kind", min_length=1, max_length=MAX_INPUTS
    )
    db: str | None = Field(None, description="database of measured rows", min_length=1)
    on_missing: OnMissing = Field("refuse", description="what to do where there is no row")


_FORMS: dict[str, type[_ListForm | _GridForm | _EvalForm]] = {
    "list": _ListForm,
    "grid": _GridForm,
    "eval": _EvalForm,
}


def parse_query(data: object) -> Query:
    """Decoded JSON to a query.

    Raises:
        ServingSimError: No object, no known op, fields that are not the op's, an unknown kind, a Config or an
            Input that the kind refuses: each with the value and what would be accepted.
    """
    if not isinstance(data, dict):
        raise ServingSimError(
            f"a query is a JSON object, given {shown(data)}", hint='for example {"op":"list"}'
        )
    op = data.get("op")
    if not isinstance(op, str) or op not in _FORMS:
        what = f"op is {shown(op)}" if "op" in data else "the query has no op"
        raise ServingSimError(what, known=", ".join(_FORMS), hint='name the op, for example {"op":"list"}')
    form = parse(_FORMS[op], data, where=f"{op} query")
    if isinstance(form, _ListForm):
        kinds = registry.kernels()
        return ListQuery(tuple(kinds.values()) if form.kind is None else (_named(form.kind),))
    kind = _named(form.kind)
    if isinstance(form, _GridForm):
        return GridQuery(kind, _config(kind, {"gpu_name": ANY_DEVICE} | form.config))
    inputs = [
        parse(kind.input, item, where=f"inputs[{index}] of {kind.kind}")
        for index, item in enumerate(form.inputs)
    ]
    return EvalQuery(kind, _config(kind, form.config), tuple(inputs), form.on_missing, form.db)


def _named(name: str) -> Kind:
    kinds: dict[str, Kind] = registry.kernels()
    if name in kinds:
        return kinds[name]
    raise ServingSimError(
        f"unknown kernel kind {shown(name)}",
        code="E_NOT_FOUND",
        known=", ".join(kinds),
        hint=did_you_mean(name, kinds) or 'ask {"op":"list"}',
    )


def _config(kind: Kind, data: dict[str, Any]) -> KernelConfig:
    config: KernelConfig = parse(kind.config, data, where=f"config of {kind.kind}")
    return config
