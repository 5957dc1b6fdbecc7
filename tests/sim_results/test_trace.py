"""The trace: what ui.perfetto.dev asks of a file, and that it draws the run that was."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from server.serving_page.trace import TraceFile, TraceWindow
from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import ITERATIONS
from servingsim.sim.serving.deployment import Deployment

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

Events = list[dict[str, Any]]
NEEDED = {
    "X": {"pid", "tid", "ts", "dur", "name"},
    "C": {"pid", "ts", "name", "args"},
    "M": {"pid", "name", "args"},
    "b": {"pid", "cat", "id", "ts", "name"},
    "e": {"pid", "cat", "id", "ts", "name"},
}
"""Fields of each phase of event in the Trace Event Format."""


@pytest.fixture(scope="module")
def logged(serve: Serve, busy: Workload) -> tuple[Simulated, list[LogPiece]]:
    """A run of pipelines, prefill and decode apart, with its log."""
    pieces: list[LogPiece] = []
    pools: tuple[dict[str, object], ...] = ({"name": "p", "pp": 2}, {"name": "d", "replicas": 2})
    return serve(busy, *pools, on_log=pieces.append), pieces


def test_every_event_has_the_fields_of_its_phase(
    logged: tuple[Simulated, list[LogPiece]], tmp_path: Path
) -> None:
    """Defect: a file that the viewer drops events of, or refuses."""
    whole = _written(logged, tmp_path)
    assert set(whole) == {"traceEvents", "otherData"}
    for event in whole["traceEvents"]:
        assert event.keys() >= NEEDED[event["ph"]]
        times = [event[field] for field in ("ts", "dur") if field in event]
        assert all(isinstance(time, int) and time >= 0 for time in times), (
            "fractions would be cut, not rounded"
        )
        assert event["ph"] != "C" or all(isinstance(value, int) for value in event["args"].values())


def test_all_iterations_are_drawn_and_none_overlaps_on_its_thread(
    logged: tuple[Simulated, list[LogPiece]], tmp_path: Path
) -> None:
    """Defect: iterations of a pipeline in one lane, where the viewer nests or loses them; a gap made by rounding."""
    simulated = logged[0]
    events = _written(logged, tmp_path)["traceEvents"]
    lanes: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in _of(events, "X"):
        lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert sum(map(len, lanes.values())) == simulated.sim.counters[ITERATIONS]
    assert len(lanes) == 4, "two lanes of the pipeline, and two replicas"
    for spans in lanes.values():
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def test_every_lane_is_named_and_belongs_to_its_pool(
    logged: tuple[Simulated, list[LogPiece]], tmp_path: Path
) -> None:
    """Defect: an iteration of one pool drawn in the process of another."""
    events = _written(logged, tmp_path)["traceEvents"]
    named = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in _of(events, "M")
        if event["name"] == "thread_name"
    }
    pools = {
        event["pid"]: event["args"]["name"] for event in _of(events, "M") if event["name"] == "process_name"
    }
    assert not {tid for _, tid in named} & set(pools), "threads and processes share their numbers"
    used = {(event["pid"], event["tid"]) for event in _of(events, "X")}
    assert used <= set(named)
    assert {(pools[pid].partition(":")[0], named[pid, tid]) for pid, tid in used} == {
        ("p", "replica 0 lane 0"),
        ("p", "replica 0 lane 1"),
        ("d", "replica 0"),
        ("d", "replica 1"),
    }
    decoded = {
        event["args"]["prefill requests"] for event in _of(events, "X") if pools[event["pid"]][0] == "d"
    }
    assert decoded == {0}


def test_phases_of_a_request_follow_one_another(
    logged: tuple[Simulated, list[LogPiece]], tmp_path: Path
) -> None:
    """Defect: an async event that is never closed and runs to the end of the screen."""
    simulated = logged[0]
    phases: defaultdict[int, list[tuple[str, str, float]]] = defaultdict(list)
    for event in _written(logged, tmp_path)["traceEvents"]:
        if event["ph"] in {"b", "e"}:
            phases[event["id"]].append((event["ph"], event["name"], event["ts"]))
    assert len(phases) == len(simulated.workload)
    for steps in phases.values():
        assert [name for _, name, _ in steps] == ["queue", "queue", "prefill", "prefill", "decode", "decode"]
        assert [ph for ph, _, _ in steps] == ["b", "e"] * 3
        times = [ts for _, _, ts in steps]
        assert times == sorted(times)
        assert (times[1], times[3]) == (times[2], times[4])


def test_a_window_draws_no_more_and_says_what_it_left_out(
    logged: tuple[Simulated, list[LogPiece]], tmp_path: Path
) -> None:
    """Defect: a cut trace that looks like the whole run, or a trace of a million iterations that no viewer opens."""
    simulated = logged[0]
    whole = _written(logged, tmp_path, TraceWindow(begin_ms=500, end_ms=2500, iterations=10, requests=3))
    drawn = _of(whole["traceEvents"], "X")
    assert len(drawn) == 10
    assert all(500e3 <= event["ts"] < 2500e3 for event in drawn)
    assert len(_of(whole["traceEvents"], "b")) <= 9
    assert whole["otherData"]["iterations"] == 10
    assert whole["otherData"]["iterations left out"] == simulated.sim.counters[ITERATIONS] - 10


def test_a_run_that_fails_leaves_no_file(logged: tuple[Simulated, list[LogPiece]], tmp_path: Path) -> None:
    """Defect: half a trace, which is no JSON, under the name of a whole one."""
    simulated, pieces = logged
    with TraceFile(tmp_path / "trace.json", simulated.deployment) as trace:
        trace.add(pieces[0])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_said_before_the_run(tmp_path: Path) -> None:
    """Defect: an hour of simulation before the path turns out to be wrong."""
    (tmp_path / "file").write_text("")
    deployment = Deployment.model_validate({"model": "m", "pools": [{"device": "d"}]})
    with (
        pytest.raises(ServingSimError, match="cannot be written"),
        TraceFile(tmp_path / "file" / "x", deployment),
    ):
        pass


def _written(
    logged: tuple[Simulated, list[LogPiece]], folder: Path, window: TraceWindow | None = None
) -> dict[str, Any]:
    simulated, pieces = logged
    with TraceFile(folder / "trace.json", simulated.deployment, window) as trace:
        for piece in pieces:
            trace.add(piece)
        trace.finish(simulated)
    assert [path.name for path in folder.iterdir()] == ["trace.json"]
    found: dict[str, Any] = json.loads((folder / "trace.json").read_text())
    return found


def _of(events: Events, ph: str) -> Events:
    return [event for event in events if event["ph"] == ph]
