"""The simulated timeline in the Trace Event Format, as ui.perfetto.dev opens it, written while the loop runs.

Format: "Trace Event Format" of the Chromium project, JSON object form: complete events (`ph` X) on one thread must not
overlap, so that each iteration under way of a pipeline has a lane of its own; counters are `ph` C; the phases of a
request are async events (`ph` b and e) with the request's number as `id`. What else Perfetto's importer does (its
`json_trace_parser_impl.cc` and `json_utils.cc`) decides the rest: fractions of a microsecond are cut off after a
multiplication, so times (`ts`, `dur`) are whole microseconds, rounded at both ends, and what followed without a gap
still does; threads are one number space with processes, so that theirs begin beyond; `displayTimeUnit` is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import (
    LOG_BEGIN_MS,
    LOG_END_MS,
    LOG_KV_BLOCKS,
    LOG_PREFILLS,
    LOG_REQUESTS,
    LOG_RUNNING,
    LOG_TOKENS,
    LOG_WAITING,
    LOG_WORKER,
)
from servingsim.workers.state import ARRIVAL_MS, END_MS, FIRST_TOKEN_MS, OUTPUT, PROMPT, SCHEDULED_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.timing.source import FloatArray

REQUESTS_PID = 1
POOL_PID = 10
"""Process of the first pool; the others follow."""
FIRST_TID = 1001
"""Thread of the first replica: no number that a process has."""
MOST_ITERATIONS, MOST_REQUESTS = 100_000, 5_000
COUNTERS = (("running", LOG_RUNNING), ("waiting", LOG_WAITING), ("KV blocks", LOG_KV_BLOCKS))
PHASES = (
    ("queue", ARRIVAL_MS, SCHEDULED_MS),
    ("prefill", SCHEDULED_MS, FIRST_TOKEN_MS),
    ("decode", FIRST_TOKEN_MS, END_MS),
)


@dataclass(frozen=True)
class TraceWindow:
    """What of a run is drawn: simulated time, and at most so many iterations and requests of it."""

    begin_ms: float = 0.0
    end_ms: float = float("inf")
    iterations: int = MOST_ITERATIONS
    requests: int = MOST_REQUESTS


class TraceFile:
    """A trace under way: give its `add` to `simulate` as `on_log`, then `finish` it with the run.

    The file appears when it is finished; leaving the block earlier leaves nothing.
    """

    def __init__(self, path: Path, deployment: Deployment, window: TraceWindow | None = None) -> None:
        self._path, self._window = path, window or TraceWindow()
        self._beside = path.with_name(f".{path.name}.part")
        self._workers = _Workers(deployment)
        self._written = self._left_out = 0
        self._last_ms = 0.0

    def __enter__(self) -> Self:
        """Begin the file.

        Raises:
            ServingSimError: E_PATH, it cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._beside.open("w", encoding="utf-8")
        except OSError as error:
            raise ServingSimError(
                f"cannot be written: {error.strerror}", code="E_PATH", path=str(self._path)
            ) from error
        self._file.write('{"traceEvents":[\n')
        self._file.write(",\n".join(map(_text, self._workers.names())))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()
        self._beside.unlink(missing_ok=True)

    def add(self, piece: LogPiece) -> None:
        """Draw a piece of the log, as far as it lies in the window."""
        rows = piece.rows
        inside = rows[
            (rows[:, LOG_BEGIN_MS] >= self._window.begin_ms) & (rows[:, LOG_BEGIN_MS] < self._window.end_ms)
        ]
        kept = inside[: self._window.iterations - self._written]
        self._written += len(kept)
        self._left_out += len(rows) - len(kept)
        if len(kept):
            self._last_ms = max(self._last_ms, float(kept[:, LOG_END_MS].max()))
            self._write(event for row in kept for event in self._workers.iteration(row))

    def finish(self, simulated: Simulated) -> None:
        """Draw the requests, say what was left out, and put the file in its place."""
        until_ms = self._last_ms if self._left_out else float("inf")
        self._write(_requests(simulated, self._window, until_ms))
        about = {
            "model": simulated.deployment.model,
            "workload": simulated.workload.name,
            "iterations": self._written,
            "iterations left out": self._left_out,
        }
        self._file.write(f'\n],"otherData":{_text(about)}}}\n')
        self._file.close()
        self._beside.replace(self._path)

    @property
    def left_out(self) -> int:
        """Iterations that the window did not take."""
        return self._left_out

    def _write(self, events: Iterable[Mapping[str, object]]) -> None:
        self._file.writelines(f",\n{_text(event)}" for event in events)


class _Workers:
    """Processes and threads: a process a pool, a thread each iteration that a replica can have under way."""

    def __init__(self, deployment: Deployment) -> None:
        self._pools = deployment.pools
        self._pid = [POOL_PID + index for index, pool in enumerate(self._pools) for _ in range(pool.replicas)]
        self._free_us = [[0] * pool.pp for pool in self._pools for _ in range(pool.replicas)]
        lanes = [len(free) for free in self._free_us]
        self._first_lane: list[int] = [sum(lanes[:worker]) for worker in range(len(lanes))]
        self._shown: dict[tuple[int, str], int] = {}

    def names(self) -> Iterator[Mapping[str, object]]:
        """What the processes and threads are called."""
        yield _named("process_name", REQUESTS_PID, REQUESTS_PID, "requests")
        worker = 0
        for index, pool in enumerate(self._pools):
            yield _named("process_name", POOL_PID + index, POOL_PID + index, f"{pool.name}: {pool.device}")
            for replica in range(pool.replicas):
                for lane in range(pool.pp):
                    name = f"replica {replica}" + (f" lane {lane}" if pool.pp > 1 else "")
                    yield _named("thread_name", POOL_PID + index, self._tid(worker, lane), name)
                worker += 1

    def iteration(self, row: FloatArray) -> Iterator[Mapping[str, object]]:
        """One iteration, and the counters that it changed."""
        worker = int(row[LOG_WORKER])
        begin_us, end_us = _us(row[LOG_BEGIN_MS]), _us(row[LOG_END_MS])
        lanes = self._free_us[worker]
        lane = next((each for each, free_us in enumerate(lanes) if free_us <= begin_us), 0)
        lanes[lane] = end_us
        prefills, requests = int(row[LOG_PREFILLS]), int(row[LOG_REQUESTS])
        yield {
            "ph": "X",
            "pid": self._pid[worker],
            "tid": self._tid(worker, lane),
            "ts": begin_us,
            "dur": end_us - begin_us,
            "name": _kind(prefills, requests - prefills),
            "cat": "iteration",
            "args": {
                "prefill requests": prefills,
                "decode requests": requests - prefills,
                "tokens": int(row[LOG_TOKENS]),
            },
        }
        for name, column in COUNTERS:
            value = int(row[column])
            if self._shown.get((worker, name)) != value:
                self._shown[worker, name] = value
                yield {
                    "ph": "C",
                    "pid": self._pid[worker],
                    "tid": self._pid[worker],
                    "ts": begin_us,
                    "name": f"replica {self._replica(worker)}",
                    "args": {name: value},
                }

    def _tid(self, worker: int, lane: int) -> int:
        return FIRST_TID + self._first_lane[worker] + lane

    def _replica(self, worker: int) -> int:
        return worker - self._pid.index(self._pid[worker])


def _requests(simulated: Simulated, window: TraceWindow, until_ms: float) -> Iterator[Mapping[str, object]]:
    """Phases of the requests that came in what is drawn and were served, the first ones."""
    times_ms, ints = simulated.sim.requests.times_ms, simulated.sim.requests.ints
    came = (times_ms[:, ARRIVAL_MS] >= window.begin_ms) & (
        times_ms[:, ARRIVAL_MS] < min(window.end_ms, until_ms)
    )
    for request in np.flatnonzero(came & (times_ms[:, END_MS] >= 0))[: window.requests].tolist():
        said = {"prompt": int(ints[request, PROMPT]), "output": int(ints[request, OUTPUT])}
        for name, begin, end in PHASES:
            for ph, column in (("b", begin), ("e", end)):
                yield {
                    "ph": ph,
                    "pid": REQUESTS_PID,
                    "tid": REQUESTS_PID,
                    "id": request,
                    "cat": "request",
                    "name": name,
                    "ts": _us(times_ms[request, column]),
                    "args": said if ph == "b" else {},
                }


def _kind(prefills: int, decodes: int) -> str:
    parts = [f"{count} {name}" for count, name in ((prefills, "prefill"), (decodes, "decode")) if count]
    return " + ".join(parts)


def _named(what: str, pid: int, tid: int, name: str) -> Mapping[str, object]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


def _us(time_ms: float) -> int:
    return round(float(time_ms) * 1e3)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
