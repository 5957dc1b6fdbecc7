"""Iterations of a real vLLM V1 engine, replayed: our scheduler gives each request as many tokens in each step.

The engine's step times are facts of its machine. They stand in for prices: before each iteration the whole table is set
to the time that the engine's took, so that both see every arrival at the same moment of their schedules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.sim.loop.build import LogSettings, PoolSettings
from servingsim.sim.loop.run import run
from servingsim.sim.loop.state import FINISHED, ITERATIONS, OF_SAMPLES, OF_TOKENS, PAUSED
from servingsim.workers.fleet import WorkerSettings
from tests.sim_loop.worlds import Asked, World, emptied, simulation

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sim_loop.worlds import Iteration

FILES = ("vllm_cpu_eager.jsonl", "vllm_cpu_compiled.jsonl")
Row = dict[str, Any]


@dataclass(frozen=True)
class Repetition:
    """One repetition of the measured run: its steps and its requests, in the order in which they were submitted."""

    steps: list[Row]
    requests: list[Row]

    @property
    def begins_ms(self) -> list[float]:
        return [step["t0"] * 1e3 for step in self.steps]

    @property
    def durations_ms(self) -> list[float]:
        """From the beginning of each step to that of the next."""
        last = self.steps[-1]
        ends = [*self.begins_ms[1:], last["t0"] * 1e3 + last["step_ms"]]
        return [end - begin for begin, end in zip(self.begins_ms, ends, strict=True)]


def _repetitions(path: Path) -> tuple[Row, list[Repetition]]:
    header, *rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    numbers = sorted({row["rep"] for row in rows})
    kinds: dict[tuple[str, int], list[Row]] = {
        (kind, number): [] for kind in ("iter", "req") for number in numbers
    }
    for row in rows:
        kinds[row["kind"], row["rep"]].append(row)
    return header, [
        Repetition(kinds["iter", number], sorted(kinds["req", number], key=lambda row: row["sub"]))
        for number in numbers
    ]


def _replayed(header: Row, measured: Repetition) -> list[Iteration]:
    """Our schedule of the same requests, each iteration as long as the engine's."""
    worker = WorkerSettings(
        token_budget=header["max_num_batched_tokens"], max_seqs=header["max_num_seqs"], block_tokens=128
    )
    # The engine was not stepped before its first step began, whatever was submitted until then.
    first_ms = measured.begins_ms[0]
    asked = tuple(
        Asked(max(row["sub"] * 1e3, first_ms), row["plen"], len(row["tok"])) for row in measured.requests
    )
    sim = simulation(World(asked, (PoolSettings(worker),)), LogSettings(1, requests=True))
    durations_ms, status, iterations = measured.durations_ms, PAUSED, []
    sim.prices.count_ms[:, OF_SAMPLES] = 0.0
    while status == PAUSED:
        begun = min(int(sim.counters[ITERATIONS]), len(durations_ms) - 1)
        sim.prices.count_ms[:, OF_TOKENS] = durations_ms[begun]
        status = run(sim, 1)
        iterations += emptied(sim)
    assert status == FINISHED
    return iterations


@pytest.mark.parametrize("name", FILES)
def test_our_scheduler_batches_what_the_engine_batched(shared_data: Path, name: str) -> None:
    """Defect: the simulated vLLM is not vLLM: other chunks, another order, other requests beside each other."""
    header, repetitions = _repetitions(shared_data / "e2e" / "vllm_cpu" / name)
    assert len(repetitions) == 6
    for measured in repetitions:
        mine = _replayed(header, measured)
        computed = [0] * len(measured.requests)
        steps = []
        for iteration in mine:
            chunks, decodes = [], []
            for request, new in iteration.batch:
                if computed[request] < measured.requests[request]["plen"]:
                    chunks.append([computed[request], new])
                else:
                    decodes.append(computed[request])
                computed[request] += new
            steps.append({"ctx": chunks, "gen": decodes})
        assert steps == [{"ctx": step["ctx"], "gen": step["gen"]} for step in measured.steps]


@pytest.mark.parametrize("name", FILES)
def test_each_request_gets_its_tokens_in_the_engine_s_steps(shared_data: Path, name: str) -> None:
    """Defect: equal sizes, but of other requests: two of one length are exchanged."""
    header, repetitions = _repetitions(shared_data / "e2e" / "vllm_cpu" / name)
    for measured in repetitions:
        computed = [0] * len(measured.requests)
        tokens_in: list[list[int]] = [[] for _ in measured.requests]
        for step, iteration in enumerate(_replayed(header, measured)):
            for request, new in iteration.batch:
                computed[request] += new
                if computed[request] >= measured.requests[request]["plen"]:
                    tokens_in[request].append(step)
        ends_s = [
            (begin + duration) / 1e3
            for begin, duration in zip(measured.begins_ms, measured.durations_ms, strict=True)
        ]
        for row, steps in zip(measured.requests, tokens_in, strict=True):
            assert len(steps) == len(row["tok"])
            for step, at_s in zip(steps, row["tok"], strict=True):
                assert measured.steps[step]["t0"] < at_s <= ends_s[step]
