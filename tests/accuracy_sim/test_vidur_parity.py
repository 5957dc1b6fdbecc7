"""Vidur's golden runs: our loop with Vidur's kernel tables makes the same batches, in the same order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.vidur_parity import RUNS, GoldenRun, golden_batches, prices, simulation
from servingsim.sim.loop.build import LogSettings
from servingsim.sim.loop.state import FINISHED
from tests.sim_loop.worlds import to_the_end

if TYPE_CHECKING:
    from pathlib import Path

BATCHES = {"vidur_a800_2000": 8_699, "vidur_conv_2000": 29_874, "vidur_conv_2000_nb900": 52_538}


@pytest.mark.shared
@pytest.mark.parametrize("golden", RUNS, ids=lambda each: each.name)
def test_every_batch_is_vidur_s(shared_data: Path, golden: GoldenRun) -> None:
    """Defect: the Sarathi policy, its preemption or the pricing is not Vidur's: one batch off and all after it are."""
    folder = shared_data / "parity"
    sim = simulation(folder, golden, prices(folder, golden), LogSettings(60_000, requests=True))
    status, mine = to_the_end(sim)
    its = golden_batches(folder, golden)
    assert status == FINISHED
    assert len(mine) == len(its) == BATCHES[golden.name]
    assert [list(each.batch) for each in mine] == [
        list(zip(each["r"], each["n"], strict=True)) for each in its
    ]
    begins_s = np.array([each.begin_ms for each in mine]) / 1e3
    assert np.allclose(begins_s, [each["t"] for each in its], rtol=1e-9, atol=1e-6)
    assert all(one.end_ms <= other.begin_ms for one, other in pairwise(mine))
