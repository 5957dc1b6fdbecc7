"""What the loop pays for one launch over prefills and decodes, beside what the model's slot input says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from servingsim.sim.loop.state import (
    AXES,
    CONTEXT_AXIS,
    COUNT_ROWS,
    FILLING,
    HOST_COLUMNS,
    MIXED_CHUNK_AXIS,
    MODE_COLUMNS,
    ONE_LAUNCH,
    Prices,
)
from servingsim.sim.pricing.lookup import Lookup
from servingsim.timing.batch import Batch
from servingsim.timing.slot_inputs import mixed_requests

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

GRID = (
    np.array([0.0, 1.0, 16.0, 100.0, 5000.0]),
    np.array([0.0, 256.0, 9000.0]),
    np.array([0.0, 1.0, 4.0, 64.0]),
    np.array([0.0, 1.0, 300.0, 1000.0, 9000.0]),
)
MOST_TOKENS = 3000
chunks = st.lists(st.tuples(st.integers(1, 700), st.integers(0, 4000)), max_size=4)
lengths = st.lists(st.integers(1, 8000), max_size=12)


def cost_ms(coords: FloatArray) -> FloatArray:
    """Linear in each size, so that lines between points are exact, and in no sum of them."""
    q_len, prefix, decodes, kv_len = np.moveaxis(np.asarray(coords, dtype=np.float64), -1, 0)
    cost: FloatArray = (
        (0.5 + q_len / 512) * (1 + prefix / 4096) + decodes * (0.01 + kv_len / 1e5) + q_len * decodes / 1e5
    )
    return cost


def prices(filling: float) -> Prices:
    """One pool in which nothing costs anything but one launch over both phases: as `cost_ms` says."""
    most = max(map(len, GRID))
    axes, points = np.zeros((1, AXES, most)), np.ones((1, AXES), dtype=np.int64)
    for axis, values in enumerate(GRID, start=MIXED_CHUNK_AXIS):
        axes[0, axis, : len(values)], points[0, axis] = values, len(values)
    points[0, CONTEXT_AXIS] = 0
    host, modes = np.zeros((1, HOST_COLUMNS)), np.zeros((1, MODE_COLUMNS), dtype=np.int64)
    host[0, FILLING], modes[0, ONE_LAUNCH] = filling, 1
    return Prices(
        modes=modes,
        host=host,
        count_ms=np.zeros((1, COUNT_ROWS, MOST_TOKENS)),
        decode_ms=np.zeros((1, 1, 1)),
        prefill_ms=np.zeros((1, 1, 1, 1)),
        axes=axes,
        points=points,
        mixed_ms=cost_ms(np.stack(np.meshgrid(*GRID, indexing="ij"), axis=-1))[None],
    )


LOOPS = {filling: Lookup(prices(filling)) for filling in (0.0, 2.0, 8.0, 1000.0)}


def paid_ms(prefills: list[tuple[int, int]], decodes: list[int], filling: float) -> float:
    """By the loop, from the sums that it keeps of its requests."""
    return LOOPS[filling].iteration_ms(Batch.of(prefill=[list(each) for each in prefills], decode=decodes))


def said_ms(prefills: list[tuple[int, int]], decodes: list[int], filling: float) -> float:
    """By the slot input that a prediction of one iteration reads."""
    rows = Batch.of(prefill=[list(each) for each in prefills], decode=decodes).rows
    coords, weights = np.zeros((3, 4)), np.zeros(3)
    count = mixed_requests(rows, filling, coords, weights)
    return float((cost_ms(coords[:count]) * weights[:count]).sum())


@settings(deadline=None)
@given(chunks, lengths, st.sampled_from(sorted(LOOPS)))
def test_an_iteration_costs_in_the_loop_what_a_prediction_says(
    prefills: list[tuple[int, int]], decodes: list[int], filling: float
) -> None:
    """Defect: the loop's twin of the slot input folds chunks or unequal decodes in another way."""
    assume(prefills or decodes)
    assert paid_ms(prefills, decodes, filling) == pytest.approx(said_ms(prefills, decodes, filling), rel=1e-9)


def test_two_fresh_prompts_are_one_chunk_of_as_many_pairs() -> None:
    """Defect: two prompts of 100 are priced as one of 200, whose second half reads the first."""
    pairs = 2 * 100 * 101 / 2
    chunk = (np.sqrt(1 + 8 * pairs) - 1) / 2
    assert paid_ms([(100, 0)] * 2, [], 0.0) == pytest.approx(cost_ms(np.array([chunk, 0, 0, 0])))
    assert paid_ms([(100, 50)], [], 0.0) == pytest.approx(cost_ms(np.array([100, 50, 0, 0])))


def test_the_longest_decode_ends_the_launch() -> None:
    """Defect: seven short requests and a long one take as long as eight of the mean length."""
    uneven, mean = [100] * 7 + [8000], 8700 / 8
    at_mean = cost_ms(np.array([0, 0, 8, mean]))
    assert paid_ms([], uneven, 8.0) > at_mean
    assert paid_ms([], uneven, 0.0) == pytest.approx(at_mean)
    beside = cost_ms(np.array([[64, 0, 8, mean], [1, 0, 1, 8000], [1, 0, 1, mean]])) @ np.array([1, 1, -1])
    assert paid_ms([(64, 0)], uneven, 8.0) == pytest.approx(beside)
