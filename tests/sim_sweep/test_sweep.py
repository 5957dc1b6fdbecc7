"""Whole sweeps: every point once, the same on every engine, gone on with after a break, refused with a reason."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.sweep.reading import metrics_of
from servingsim.sim.sweep.record import read_manifest
from servingsim.sim.sweep.run import SweepProgress, sweep
from servingsim.sim.workload.load import workload_of
from tests.sim_sweep.bench import Estimates, spec

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.sweep.outcome import Outcome

ROOT = Path(__file__).resolve().parents[2]
BENCH = Estimates()
TP = {"field": "tp", "values": [1, 2, 4, 8]}
LIMITS = ["ttft_ms.p90 <= 60", "tpot_ms.p90 <= 8"]


@dataclass(frozen=True)
class Deadly(Estimates):
    """A process that reads a model for eight ranks is gone, as where memory runs out."""

    parent: int = 0

    def models(self, deployment: Deployment) -> list[DenseFacts]:
        if deployment.pools[0].tp == 8 and os.getpid() != self.parent:
            os._exit(1)
        return super().models(deployment)


class Interruption(Exception):  # noqa: N818 - stands for a person's Ctrl-C
    pass


def figures(outcomes: tuple[Outcome, ...]) -> list[Outcome]:
    return [outcome.model_copy(update={"elapsed_s": 0.0}) for outcome in outcomes]


def test_a_points_figures_are_those_of_its_simulation_alone() -> None:
    """Defect: a sweep simulates something else than `simulate`, or reads its figures off otherwise."""
    asked = spec(points=[{"tp": 2, "rate_per_s": 20}])
    (outcome,) = sweep(asked, BENCH, engine="here").outcomes
    pool = asked.deployment.pools[0].model_copy(update={"tp": 2})
    deployment = asked.deployment.model_copy(update={"pools": (pool,)})
    workload = asked.workload.model_validate(asked.workload.model_dump() | {"arrivals": {"rate_per_s": 20}})
    alone = simulate(deployment, workload_of(workload), BENCH.models(deployment), BENCH.source())
    assert outcome.metrics == metrics_of(alone)


def test_every_engine_gives_every_point_once_and_the_same(tmp_path: Path) -> None:
    """Defect: points lost between two batches of work, or another order of the answer."""
    asked = spec(grid=[TP, {"field": "max_num_seqs", "values": [2, 16]}], limits=LIMITS)
    seen: list[SweepProgress] = []
    apart = sweep(asked, BENCH, engine="processes", workers=2, folder=tmp_path, on_progress=seen.append)
    here = sweep(asked, BENCH, engine="here")
    assert len(apart.outcomes) == 8
    assert figures(apart.outcomes) == figures(here.outcomes)
    assert [each.done for each in seen] == list(range(9))
    assert {each.total for each in seen} == {8}
    assert (apart.summary, apart.cheapest, apart.pareto) == (here.summary, here.cheapest, here.pareto)


def test_a_broken_off_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Defect: an interruption costs what was done; or the sweep that goes on answers otherwise."""

    def interrupt(progress: SweepProgress) -> None:
        if progress.done == 2:
            raise Interruption

    asked = spec(grid=[TP])
    with pytest.raises(Interruption):
        sweep(asked, BENCH, engine="here", folder=tmp_path, on_progress=interrupt)
    seen: list[SweepProgress] = []
    whole = sweep(asked, BENCH, engine="here", folder=tmp_path, on_progress=seen.append)
    assert [each.done for each in seen] == [2, 3, 4]
    assert seen[0].known == 2
    assert figures(whole.outcomes) == figures(sweep(asked, BENCH, engine="here").outcomes)
    assert read_manifest(tmp_path).spec == asked


def test_a_wider_sweep_in_the_same_folder_simulates_only_what_is_new(tmp_path: Path) -> None:
    """Defect: a value more repeats the sweep."""
    sweep(spec(grid=[{"field": "tp", "values": [1, 2]}]), BENCH, engine="here", folder=tmp_path)
    seen: list[SweepProgress] = []
    sweep(spec(grid=[TP]), BENCH, engine="here", folder=tmp_path, on_progress=seen.append)
    assert (seen[0].known, len(seen)) == (2, 3)


def test_other_kernel_times_are_other_outcomes(tmp_path: Path) -> None:
    """Defect: a sweep goes on with figures of a store that has changed."""
    asked = spec(points=[{"tp": 1}])
    sweep(asked, BENCH, engine="here", folder=tmp_path)
    seen: list[SweepProgress] = []
    sweep(asked, Estimates("others"), engine="here", folder=tmp_path, on_progress=seen.append)
    assert seen[0].known == 0


def test_a_line_that_was_cut_is_simulated_again(tmp_path: Path) -> None:
    """Defect: a killed run leaves half a line, and the sweep can never go on or loses the next outcome too."""
    asked = spec(grid=[TP])
    whole = sweep(asked, BENCH, engine="here", folder=tmp_path)
    file = tmp_path / "outcomes.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    assert figures(sweep(asked, BENCH, engine="here", folder=tmp_path).outcomes) == figures(whole.outcomes)
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 4


def test_a_line_that_somebody_wrote_is_named(tmp_path: Path) -> None:
    """Defect: outcomes that cannot be read are skipped in silence."""
    asked = spec(grid=[{"field": "tp", "values": [1, 2]}])
    sweep(asked, BENCH, engine="here", folder=tmp_path)
    file = tmp_path / "outcomes.jsonl"
    file.write_text("{}\n" + file.read_text())
    with pytest.raises(ServingSimError, match="line 1 is no outcome"):
        sweep(asked, BENCH, engine="here", folder=tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    """Defect: a sweep written among somebody's files."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ServingSimError, match="holds other files and no sweep"):
        sweep(spec(), BENCH, engine="here", folder=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_vanishes_or_is_a_file_is_named(tmp_path: Path) -> None:
    """Defect: an OSError after the first hour."""
    gone = tmp_path / "gone"

    def remove(progress: SweepProgress) -> None:
        if progress.done == 1:
            shutil.rmtree(gone)

    with pytest.raises(ServingSimError, match="cannot be written"):
        sweep(spec(grid=[TP]), BENCH, engine="here", folder=gone, on_progress=remove)
    (tmp_path / "file").touch()
    with pytest.raises(ServingSimError, match="cannot be written"):
        sweep(spec(), BENCH, engine="here", folder=tmp_path / "file")


def test_what_cannot_be_simulated_is_an_outcome_and_the_others_go_on() -> None:
    """Defect: one partition that does not fit ends a night's sweep."""
    report = sweep(spec(grid=[{"field": "tp", "values": [3, 1]}]), BENCH, engine="here")
    refused, done = report.outcomes
    assert report.refused == 1
    assert refused.fault is not None
    assert refused.metrics is None
    assert "3" in refused.fault.message
    assert done.metrics is not None


def test_a_process_that_dies_ends_the_sweep_with_a_way_on(tmp_path: Path) -> None:
    """Defect: the sweep hangs, or loses the outcomes of the others."""
    asked = spec(grid=[TP])
    with pytest.raises(ServingSimError, match="a process of the sweep died"):
        sweep(asked, Deadly(parent=os.getpid()), workers=1, folder=tmp_path)
    seen: list[SweepProgress] = []
    sweep(asked, BENCH, engine="here", folder=tmp_path, on_progress=seen.append)
    assert seen[0].known >= 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"engine": "procesess"}, "did you mean 'processes'"),
        ({"workers": 0}, "0 workers"),
        ({"workers": 9999}, "1024"),
    ],
)
def test_an_engine_or_a_number_of_workers_that_is_not_there_is_refused(
    changed: dict[str, object], said: str
) -> None:
    """Defect: a typo runs somewhere else."""
    with pytest.raises(ServingSimError) as refused:
        sweep(spec(), BENCH, **changed)  # type: ignore[arg-type]
    assert said in str(refused.value)


@pytest.mark.slow
@pytest.mark.long
def test_ray_gives_the_same_outcomes() -> None:
    """Defect: another engine, another answer; or a function that cannot be sent to a cluster."""
    pytest.importorskip("ray")
    code = (
        "from tests.sim_sweep.bench import Estimates, spec\n"
        "from servingsim.sim.sweep.run import sweep\n"
        "import sys\n"
        "grid = [{'field': 'tp', 'values': [1, 2, 4, 8, 3]}]\n"
        "for engine in ('ray', 'here'):\n"
        "    outcomes = sweep(spec(grid=grid), Estimates(), engine=engine, workers=2).outcomes\n"
        "    for outcome in outcomes:\n"
        "        sys.stdout.write(outcome.model_copy(update={'elapsed_s': 0.0}).model_dump_json() + '\\n')\n"
    )
    lines = _said(code, ROOT).splitlines()
    assert len(lines) == 10
    assert lines[:5] == lines[5:]


def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    """Defect: an ImportError; or the sweep needs Ray where another engine runs it."""
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    code = (
        "from tests.sim_sweep.bench import Estimates, spec\n"
        "from servingsim.sim.sweep.run import sweep\n"
        "from servingsim.errors import ServingSimError\n"
        "import sys\n"
        "try: sweep(spec(), Estimates(), engine='ray')\n"
        "except ServingSimError as error: sys.stdout.write(str(error))\n"
    )
    assert "pip install 'servingsim[ray]'" in _said(code, tmp_path)


def _said(code: str, folder: Path) -> str:
    """What another process says that looks for modules in the folder first."""
    before = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join([str(folder), str(ROOT), *([before] if before else [])])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
