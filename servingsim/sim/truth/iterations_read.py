"""Reading an iteration log: JSON lines, a header, then a line an iteration (`iter`) and a line a request (`req`).

`servingsim capture record` writes it. Fields of an iteration: `rep`, `i`, `t0` (seconds), `step_ms`, `ctx` =
[[computed, new] ...], `gen` = [computed ...], and where known `sched_ms`, `exec_ms`, `sample_ms`, `update_ms`. Of a
request: `rep`, `id`, `plen`, `sub` and `tok` (seconds).
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations import CAPTURED, Iteration, IterationLog, MeasuredRequest, Run
from servingsim.sim.workload.json_lines import json_lines

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T", bound=BaseModel)

MAX_LINES = 2_000_000
PARTS = ("sched", "exec", "sample", "update")
FORMAT = 'JSON lines: {"kind": "header", ...}, then "iter" and "req" lines'

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, le=2**24)]
New = Annotated[int, Field(ge=1, le=2**20)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Header(_Line):
    engine: str = "unknown"
    model: str = ""
    max_num_batched_tokens: int = Field(0, ge=0)
    max_num_seqs: int = Field(0, ge=0)
    opt: dict[str, Any] = {}


class _Iteration(_Line):
    kind: Literal["iter"]
    rep: int | str
    t0: NotNegative
    step_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    ctx: list[tuple[Tokens, New]]
    gen: list[Tokens]
    sched_ms: NotNegative | None = None
    exec_ms: NotNegative | None = None
    sample_ms: NotNegative | None = None
    update_ms: NotNegative | None = None


class _Request(_Line):
    kind: Literal["req"]
    rep: int | str
    plen: New
    sub: float
    tok: list[float]


def is_iteration_log(head: bytes) -> bool:
    """Whether a file that begins so is one: by its first line."""
    line = head.lstrip().split(b"\n", 1)[0]
    return line.startswith(b"{") and b'"kind"' in line and (b'"header"' in line or b'"iter"' in line)


def read_iterations(path: Path) -> IterationLog:
    """Read a log.

    Raises:
        ServingSimError: E_NOT_FOUND; E_INPUT with the line and the field for one that is not as described, or that
            holds no iteration.
    """
    header, rows = _Header(), defaultdict[str, list[_Iteration]](list)
    requests = defaultdict[str, list[_Request]](list)
    for number, (where, row) in enumerate(json_lines(path, ("kind",)), 1):
        if number > MAX_LINES:
            raise ServingSimError(f"more than {MAX_LINES} lines", code="E_LIMIT", path=str(path))
        kind = row["kind"]
        if kind == "header":
            header = _parsed(_Header, row, path, where)
        elif kind == "iter":
            line = _parsed(_Iteration, row, path, where)
            if not line.ctx and not line.gen:
                raise _bad(path, where, "ctx and gen are both empty", "an iteration computes something")
            rows[str(line.rep)].append(line)
        elif kind == "req":
            request = _parsed(_Request, row, path, where)
            requests[str(request.rep)].append(request)
        else:
            raise _bad(path, where, f"kind {str(kind)[:40]!r}", "header, iter or req")
    runs = tuple(
        Run(name, tuple(_iteration(each) for each in lines), _requests(requests[name]))
        for name, lines in rows.items()
        if name != CAPTURED
    )
    captured = tuple(_iteration(each) for each in rows.get(CAPTURED, []))
    if not runs:
        raise ServingSimError("holds no iteration of any run", path=str(path), known=FORMAT)
    facts = {"model": header.model} | {name: str(value) for name, value in header.opt.items()}
    return IterationLog(
        header.engine, facts, header.max_num_batched_tokens, header.max_num_seqs, runs, captured
    )


def _parsed(shape: type[T], row: dict[str, Any], path: Path, where: str) -> T:
    try:
        return shape.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _bad(path, where, f"field {field}: {first['msg']}", FORMAT) from error


def _bad(path: Path, where: str, what: str, known: str) -> ServingSimError:
    return ServingSimError(f"{where}: {what}", path=str(path), known=known)


def _iteration(line: _Iteration) -> Iteration:
    parts = {name: getattr(line, f"{name}_ms") for name in PARTS}
    return Iteration(
        line.t0 * 1e3,
        line.step_ms,
        tuple(line.ctx),
        tuple(line.gen),
        {name: value for name, value in parts.items() if value is not None},
    )


def _requests(lines: list[_Request]) -> tuple[MeasuredRequest, ...]:
    ordered = sorted(lines, key=lambda line: line.sub)
    return tuple(
        MeasuredRequest(line.plen, line.sub * 1e3, tuple(at * 1e3 for at in line.tok))
        for line in ordered
        if line.tok and math.isfinite(line.sub)
    )
