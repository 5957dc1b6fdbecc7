"""Drawn traffic: deterministic, of the distribution asked for, and refused where it would not be."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from servingsim.sim.workload.contract import Workload, to_requests
from servingsim.sim.workload.load import describe, workload_of
from servingsim.sim.workload.spec import Arrivals, Lengths, Prefixes, WorkloadSpec
from servingsim.workers.state import KEY_COUNT, KEY_START

ROOT = Path(__file__).resolve().parents[2]
FOUR = Arrivals(kind="gamma", rate_per_s=4.0, cv=2.0)
PROMPTS = Lengths(kind="lognormal", mean=500, spread=1.0)
OUTPUTS = Lengths(kind="uniform", mean=100, spread=0.5)
BEGINNINGS = Prefixes(tokens=256, groups=50, zipf=1.2)


def spec(**changed: object) -> WorkloadSpec:
    fields = {"requests": 200, "prompt": PROMPTS, "output": OUTPUTS, "arrivals": FOUR, "prefixes": BEGINNINGS}
    return WorkloadSpec.model_validate(fields | changed)


def digest(workload: Workload) -> str:
    columns = (workload.arrival_ms, workload.prompt, workload.output, workload.keys, workload.key_start)
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


def test_a_seed_gives_the_same_bits_in_another_process() -> None:
    """Defect: a draw that depends on hash seeds, on the clock, or on what was drawn before."""
    code = (
        "from tests.sim_workload.test_drawn import digest, spec, workload_of\n"
        "import sys; sys.stdout.write(digest(workload_of(spec())))"
    )
    command = [sys.executable, "-c", code]
    other = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert other.stdout == digest(workload_of(spec()))
    assert digest(workload_of(spec(seed=1))) != other.stdout


def test_one_thing_drawn_otherwise_changes_no_other() -> None:
    """Defect: two runs that differ in output lengths alone get other arrivals, and their difference is noise."""
    base, other = workload_of(spec()), workload_of(spec(output={"mean": 7}, prefixes=None))
    assert (base.arrival_ms == other.arrival_ms).all()
    assert (base.prompt == other.prompt).all()


def test_more_requests_begin_with_the_same_ones() -> None:
    """Defect: a longer run is another experiment from its first request on."""
    short, long = workload_of(spec(prefixes=None)), workload_of(spec(requests=500, prefixes=None))
    assert (long.arrival_ms[:200] == short.arrival_ms).all()
    assert (long.prompt[:200] == short.prompt).all()


def test_rates_differ_in_the_scale_of_gaps_alone() -> None:
    """Defect: a search over rates compares different random traffic, and its limit is luck."""
    slow, fast = (
        workload_of(spec(arrivals={"kind": "poisson", "rate_per_s": rate})).arrival_ms for rate in (2.0, 4.0)
    )
    assert slow == pytest.approx(2 * fast)


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (Arrivals(rate_per_s=10), 1.0),
        (Arrivals(kind="gamma", rate_per_s=10, cv=3.0), 3.0),
        (Arrivals(kind="constant", rate_per_s=10), 0.0),
    ],
)
def test_gaps_have_the_mean_and_the_variation_asked_for(arrivals: Arrivals, cv: float) -> None:
    """Defect: shape and scale of the gamma distribution exchanged."""
    gaps = np.diff(workload_of(spec(requests=50_000, arrivals=arrivals)).arrival_ms)
    assert gaps.mean() == pytest.approx(100.0, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.05, abs=1e-9)


def test_lengths_have_the_mean_and_the_range_asked_for() -> None:
    """Defect: the mean of a log-normal is its median, or a uniform range is twice as wide."""
    workload = workload_of(spec(requests=50_000))
    assert workload.prompt.mean() == pytest.approx(500, rel=0.02)
    assert (workload.output.min(), workload.output.max()) == (50, 150)


def test_bursts_come_together_at_the_mean_rate() -> None:
    """Defect: a burst of n requests n times as often."""
    times = workload_of(spec(requests=6, arrivals={"kind": "burst", "size": 3, "rate_per_s": 3.0})).arrival_ms
    assert list(times) == [0.0, 0.0, 0.0, 1000.0, 1000.0, 1000.0]
    assert list(workload_of(spec(requests=2, arrivals={"kind": "burst"})).arrival_ms) == [0.0, 0.0]


def test_a_closed_loop_starts_with_its_users() -> None:
    """Defect: requests that wait for their turn arrive at once, or the summary divides by infinity."""
    workload = workload_of(spec(requests=5, arrivals={"kind": "closed", "size": 2}))
    assert list(workload.arrival_ms) == [0.0, 0.0, np.inf, np.inf, np.inf]
    assert (describe(workload).span_s, describe(workload).rate_per_s) == (None, None)


def test_prefixes_are_shared_as_far_as_the_shorter_prompt_goes() -> None:
    """Defect: a short prompt has keys beyond its end, or requests of one group different keys."""
    requests = to_requests(
        workload_of(spec(requests=400, prompt={"kind": "uniform", "mean": 200, "spread": 1}))
    )
    first: dict[int, int] = {}
    for row in requests.ints:
        held = list(requests.keys[row[KEY_START] : row[KEY_START] + row[KEY_COUNT]])
        assert len(held) == min(row[0] // 16, 16)
        for place, key in enumerate(held):
            assert first.setdefault(key, place) == place


def test_a_larger_exponent_shares_more() -> None:
    """Defect: the popularity of beginnings is not Zipf's, or its sign is turned."""
    shares = [
        describe(workload_of(spec(prefixes={"tokens": 256, "groups": 1000, "zipf": zipf}))).repeated_share
        for zipf in (0.0, 1.0, 3.0)
    ]
    assert 0 < shares[0] < shares[1] < shares[2]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": {"mean": 200_000}}, "mean 200000 lies outside least 1 to most 131072"),
        ({"prompt": {"mean": 5, "least": 6}}, "mean 5 lies outside"),
        ({"prompt": {"mean": 0}}, "greater than or equal to 1"),
        ({"prompt": None}, "prompt and output lengths"),
        ({"path": "x"}, "a file has its own lengths"),
        ({"format": "csv"}, "without a file"),
        ({"arrivals": {}}, "need arrivals.rate_per_s"),
        ({"arrivals": {"kind": "gamma"}}, "gamma arrivals need rate_per_s"),
        ({"arrivals": {"kind": "closed", "rate_per_s": 1}}, "has users (size), not a rate"),
        ({"arrivals": {"rate_per_s": 0}}, "greater than or equal to 0.000001"),
        ({"arrivals": {"rate_per_s": float("nan")}}, "rate_per_s"),
        ({"arrivals": {"rate_per_s": float("inf")}}, "rate_per_s"),
        ({"arrivals": {"rate_per_s": 1, "cv": 1e-300}}, "cv"),
        ({"prefixes": {"tokens": 15}}, "less than one reusable piece of 16"),
        ({"prefixes": {"tokens": 2**20, "groups": 10_000, "key_tokens": 1}}, "fewer groups"),
        ({"requests": 0}, "requests"),
        ({"requests": 10**9}, "requests"),
        ({"seed": -1}, "seed"),
        ({"lengths": 1}, "Extra inputs"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_its_field(changed: dict[str, object], said: str) -> None:
    """Defect: lengths cut in silence, infinite gaps, or an array that fills the memory."""
    with pytest.raises(ValidationError) as refused:
        spec(**changed)
    assert said in str(refused.value)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["fixed", "uniform", "lognormal"]),
    mean=st.integers(1, 131_072),
    spread=st.floats(0, 4),
    arrivals=st.builds(
        Arrivals,
        kind=st.sampled_from(["poisson", "gamma", "constant", "burst"]),
        rate_per_s=st.floats(1e-6, 1e6),
        cv=st.floats(0.01, 100),
        size=st.integers(1, 1000),
    ),
    tokens=st.integers(16, 10_000),
    zipf=st.floats(0, 10),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_a_spec_allows_is_a_workload(
    kind: str, mean: int, spread: float, arrivals: Arrivals, tokens: int, zipf: float, seed: int
) -> None:
    """Defect: some corner of the distributions gives a length of 0, a time that is not finite or not sorted."""
    workload = workload_of(
        spec(
            requests=64,
            prompt={"kind": kind, "mean": mean, "spread": spread},
            arrivals=arrivals,
            prefixes={"tokens": tokens, "groups": 9, "zipf": zipf},
            seed=seed,
        )
    )
    assert ((workload.prompt >= 1) & (workload.prompt <= 131_072)).all()
    assert np.isfinite(workload.arrival_ms).all()
    assert (np.diff(workload.arrival_ms) >= 0).all()
    assert (workload.key_count * 16 <= workload.prompt).all()
    assert (workload.key_start + workload.key_count <= len(workload.keys)).all()
