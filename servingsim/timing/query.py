"""What `kernel-query` answers: which kinds there are, what a grid holds, what a shape costs.

`list` and `grid` need no device and no rows; `eval` needs a source of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from servingsim.errors import ServingSimError
from servingsim.timing.contract import MAX_FEASIBLE_COORDINATES
from servingsim.timing.dtype_tags import dtype_tags
from servingsim.timing.query_form import GridQuery, ListQuery

if TYPE_CHECKING:
    from servingsim.timing.query_form import EvalQuery, Kind, Query
    from servingsim.timing.source import TimingSource


def answer(query: Query, source: TimingSource | None) -> dict[str, Any]:
    """The answer as plain data that JSON can hold.

    Args:
        query: From `parse_query`.
        source: Measured rows, for `eval` only.

    Raises:
        ServingSimError: A grid over the ceiling (E_LIMIT); for `eval` no source, an unknown device, or no
            rows (E_COVERAGE).
    """
    if isinstance(query, ListQuery):
        return {"op": "list", "kinds": [_description(kind) for kind in query.kinds]}
    if isinstance(query, GridQuery):
        return _grid(query)
    return _eval(query, source)


class _Untitled(GenerateJsonSchema):
    """A title that only repeats the field's name is a tenth of a schema."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Never."""
        del schema
        return False


def _description(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "profile_table": kind.table,
        "args_fields": list(kind.args),
        "axes": list(kind.axes),
        "cache": kind.cache,
        "dtype_tags": dtype_tags(kind),
        "interpolated": list(kind.interpolated),
        "config": kind.config.model_json_schema(schema_generator=_Untitled),
        "input": kind.input.model_json_schema(schema_generator=_Untitled),
    }


def _grid(query: GridQuery) -> dict[str, Any]:
    kind, config = query.kind, query.config
    axes = kind.sweep_grid(config)
    coords = kind.feasible_coordinates(config)
    example = coords[len(coords) // 2]
    payload = kind.payload(config, example)
    return {
        "op": "grid",
        "kind": kind.kind,
        "profile_table": kind.table,
        "config": config.model_dump(),
        "input_fields": list(kind.input.model_fields),
        "grid_axes": {axis: list(values) for axis, values in zip(kind.axes, axes, strict=True)},
        "feasible_count": len(coords),
        "feasible_limit": MAX_FEASIBLE_COORDINATES,
        "args_fields": list(payload),
        "cache": kind.cache,
        "dtype_tags": dtype_tags(kind),
        "example": {"payload": payload, "input": kind.invert(config, example).model_dump()},
    }


def _eval(query: EvalQuery, source: TimingSource | None) -> dict[str, Any]:
    if source is None:
        raise ServingSimError(
            "eval needs measured rows, and no database is given", hint="name it with --db or db"
        )
    # Only a query that comes this far needs the engine and what its caches import.
    from servingsim.timing.query_eval import evaluate  # noqa: PLC0415 - as above

    return {"op": "eval", "kind": query.kind.kind, **evaluate(query, source)}
