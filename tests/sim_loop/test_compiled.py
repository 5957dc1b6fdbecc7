"""The loop as machine code and as plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from servingsim.workers.state import DONE, HIT_TOKENS, PREEMPTIONS, STATE
from tests.sim_loop.every_path import digests, every_path
from tests.sim_loop.worlds import happened

ROOT = Path(__file__).resolve().parents[2]


def test_compiled_and_uncompiled_give_the_same_bits() -> None:
    """Defect: the compiled loop overflows, divides or rounds otherwise than the code says."""
    plain = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.sim_loop.every_path"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert plain.returncode == 0, plain.stderr
    assert json.loads(plain.stdout) == digests()


def test_those_worlds_exercise_what_they_are_for() -> None:
    """Defect: the comparison compares nothing: no preemption, no prefix hit, no request served."""
    results = {name: happened(world) for name, world in every_path().items()}
    for name, result in results.items():
        ints = result.sim.requests.ints
        assert (ints[:, STATE] == DONE).sum() > 20, name
        assert (ints[:, HIT_TOKENS].any()) == ("prefixes" in name or "all" in name), name
        # Only a repeated decode step sorts its requests by their place in a block.
        assert result.sim.steady_start.any() == ("plain" in name or "prefixes" in name), name
    preempted = {
        name.split()[0] for name, each in results.items() if each.sim.requests.ints[:, PREEMPTIONS].any()
    }
    assert preempted == {"vllm", "sglang", "sarathi", "prefill_first"}
