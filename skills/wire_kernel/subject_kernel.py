"""What the simulator's kernel file says, measured by asking it. Runs in the subject's process."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from profiling import registry as profiling_registry
from servingsim.errors import ServingSimError
from servingsim.timing import contract, registry
from servingsim.timing.dtype_tags import dtype_tags
from servingsim.validation import parse
from skills.wire_kernel.subject_split import defaults_of, selectors, siblings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.contract import Backend
    from profiling.contract import KernelKind as MeasuredKind
    from servingsim.timing.contract import KernelConfig

Kind = contract.KernelKind[Any, Any]
MAX_CELLS = 4000
"""Cells that are looked at one by one; of a larger grid evenly spread ones."""
ENGINE = dict(vars(contract.KernelKind))
LIMITS = (contract.MAX_FEASIBLE_COORDINATES, contract.MAX_GRID_CELLS)


def describe(request: dict[str, Any]) -> dict[str, Any]:
    """Facts of the kernel `kind` at one Config: fields, grid, and for each cell payload, inverse, work, refusals."""
    kinds = registry.kernels()
    name = request["kind"]
    if name not in kinds:
        near = difflib.get_close_matches(name.lower(), list(kinds), n=1)
        alike = [each for each in kinds if _plain(each) == _plain(name)] or near
        return {"found": False, "near": alike[0] if alike else ""}
    kind = kinds[name]
    config = parse(
        kind.config, {"gpu_name": "any device"} | request["config"], where=f"shape.config of {name}"
    )
    grid = [list(values) for values in kind.sweep_grid(config)]
    cells = math.prod(len(values) for values in grid)
    few = cells <= contract.MAX_GRID_CELLS
    feasible = sum(1 for cell in itertools.product(*grid) if kind.feasible(config, cell)) if few else cells
    measured = profiling_registry.kinds().get(kind.table)
    facts: dict[str, Any] = {
        "found": True,
        "path": inspect.getfile(kind.sweep_grid),
        "plain": type(kind) is contract.KernelKind and _untouched(),
        "kind": kind.kind,
        "table": kind.table,
        "args": list(kind.args),
        "axes": list(kind.axes),
        "cache": kind.cache,
        "config_fields": [each for each in kind.config.model_fields if each not in {"gpu_name", "backends"}],
        "input_fields": list(kind.input.model_fields),
        "config": config.model_dump(mode="json"),
        "dtype_tags": dtype_tags(kind),
        "reaxed": kind.reaxis is not None,
        "grid": grid,
        "cells": cells,
        "feasible_count": feasible,
    }
    if few and feasible <= contract.MAX_FEASIBLE_COORDINATES:
        runners = [
            of for (of_kind, name), of in profiling_registry.backends().items()
            if of_kind == kind.table and name in request["backends"]
        ]  # fmt: skip
        ask = _Cell(kind, config, measured, runners)
        facts["points"] = [ask.facts(cell) for cell in _spread(grid, cells)]
        facts["emitted"] = _emitted(kind, config, tuple(request["backends"]))
        facts["default_counts"] = defaults_of(kind, config)
        facts["siblings"] = siblings(kind, config, kinds)
        facts["selectors"] = selectors(kind, config)
    return facts


class _Cell:
    """Asks everything about one cell of the grid."""

    def __init__(
        self, kind: Kind, config: KernelConfig, measured: MeasuredKind | None, runners: list[Backend]
    ) -> None:
        self._kind, self._config, self._measured, self._runners = kind, config, measured, runners

    def facts(self, cell: tuple[int, ...]) -> dict[str, Any]:
        kind, config = self._kind, self._config
        payload, wrong = _tried(lambda: kind.payload(config, cell))
        facts: dict[str, Any] = {
            "cell": list(cell),
            "feasible": bool(kind.feasible(config, cell)),
            "payload": payload,
            "payload_error": wrong,
            "refused": self._refusal(payload) if payload is not None else wrong,
        }
        call, facts["input_error"] = _tried(lambda: kind.invert(config, cell))
        facts["input"] = call.model_dump(mode="json") if call is not None else None
        if call is not None:
            back, facts["project_error"] = _tried(lambda: kind.project(config, call))
            facts["projected"] = [float(value) for value in back] if back is not None else None
        if payload is not None:
            facts["work"], _ = _tried(lambda: _amounts(kind.work_model, payload))
            if self._measured is not None:
                model = self._measured.work
                facts["measured_work"], _ = _tried(lambda: _amounts(model, payload))
        return facts

    def _refusal(self, payload: dict[str, Any]) -> str:
        """Why nobody can measure these args, empty where somebody can."""
        if self._measured is None:
            return ""
        try:
            self._measured.args.model_validate(payload)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"the profiler's args refuse {'.'.join(map(str, first['loc']))}: {first['msg']}"
        reasons = [runner.supports(**payload) for runner in self._runners]
        return str(reasons[0]) if reasons and all(reasons) else ""


def _tried(ask: Callable[[], Any]) -> tuple[Any, str]:
    """An answer, or why there is none: a file under test may raise anything."""
    try:
        return ask(), ""
    except ServingSimError as error:
        return None, error.what
    except Exception as error:  # noqa: BLE001 - as above: the judge is told what was raised
        return None, f"{type(error).__name__}: {error}"[:300]


def _amounts(model: Callable[..., Any], payload: dict[str, Any]) -> list[float]:
    return [float(amount) for amount in model(**payload)]


def _emitted(kind: Kind, config: KernelConfig, backends: tuple[str, ...]) -> list[dict[str, Any]]:
    return list(itertools.islice(kind.enumerate(config, backends), 2 * len(backends)))


def _spread(grid: list[list[int]], cells: int) -> Iterator[tuple[int, ...]]:
    return itertools.islice(itertools.product(*grid), 0, None, -(-cells // MAX_CELLS) or 1)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _untouched() -> bool:
    """Whether loading the file left the shared contract as it was."""
    same = all(vars(contract.KernelKind).get(name) is value for name, value in ENGINE.items())
    return same and (contract.MAX_FEASIBLE_COORDINATES, contract.MAX_GRID_CELLS) == LIMITS
