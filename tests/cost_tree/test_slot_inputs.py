"""The closed set of slot inputs: its arithmetic, and that every reader shares it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.errors import ServingSimError
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL
from servingsim.timing.kernels.gated_delta_prefill import KERNEL as GATED_DELTA_PREFILL
from servingsim.timing.kernels.mamba2_prefill import KERNEL as MAMBA2_PREFILL
from servingsim.timing.kernels.mla_decode import KERNEL as MLA_DECODE
from servingsim.timing.kernels.mla_prefill import KERNEL as MLA_PREFILL
from servingsim.timing.slot_inputs import (
    COUNT,
    DECODE_REQUESTS,
    PREFILL_LENGTHS,
    PREFILL_REQUESTS,
    SAMPLED_POSITIONS,
    SLOT_INPUTS,
    SlotInput,
    code_of,
    coordinates,
    dispatcher,
    total_tokens,
)

MIXED = Batch.of([(128,), (64, 512), (32, 0, False)], [513, 7])
DECODE_ONLY = Batch.of([], [10, 20, 31])
CHUNK_ONLY = Batch.of([(16, 32, False)], [])
THREE = Batches.of([MIXED, DECODE_ONLY, CHUNK_ONLY])


@pytest.mark.parametrize(
    ("name", "iteration", "coords", "weights"),
    [
        ("total_tokens", [0, 1, 2], [[226], [3], [16]], [1, 1, 1]),
        ("sampled_positions", [0, 1], [[4], [3]], [1, 1]),
        ("context_tokens", [0, 1, 2], [[1256], [61], [48]], [1, 1, 1]),
        ("prefill_tokens", [0, 2], [[224], [16]], [1, 1]),
        ("prefill_context", [0, 2], [[736], [48]], [1, 1]),
        ("decode_tokens", [0, 1], [[2], [3]], [1, 1]),
        ("decode_requests", [0, 1], [[2, 260], [3, 61 / 3]], [1, 1]),
        (
            "prefill_lengths",
            [0, 0, 0, 2],
            [[3, 128], [3, 64], [3, 32], [1, 16]],
            [1 / 3, 1 / 3, 1 / 3, 1],
        ),
        (
            "prefill_requests",
            [0, 0, 0, 2],
            [[3, 128, 0], [3, 64, 512], [3, 32, 0], [1, 16, 32]],
            [1 / 3, 1 / 3, 1 / 3, 1],
        ),
    ],
)
def test_coordinates(
    name: str, iteration: list[int], coords: list[list[float]], weights: list[float]
) -> None:
    """Defects: an unsampled chunk priced in the lm_head, an idle slot launched, a fan-out counted in full.

    Of phases: an expansion of latents priced for decode requests, a step of states for prefill ones.
    """
    (member,) = (member for member in SLOT_INPUTS if member.name == name)
    points = coordinates(member, THREE)
    assert points.iteration.tolist() == iteration
    assert points.coords.tolist() == coords
    assert points.weights.tolist() == weights
    assert points.iterations == 3


@pytest.mark.parametrize("member", [each for each in SLOT_INPUTS if each.axes == COUNT])
def test_width_multiplies_counts(member: SlotInput) -> None:
    """Defect: rows of one head counted where a launch has those of all."""
    one, eight = (coordinates(member, THREE, width).coords for width in (1.0, 8.0))
    assert eight.tolist() == (8 * one).tolist()


def test_codes_are_positions_and_strangers_are_refused() -> None:
    """The set is closed: a slot input that no compiled loop knows must not reach a leaf."""
    assert [code_of(member) for member in SLOT_INPUTS] == list(range(len(SLOT_INPUTS)))
    with pytest.raises(ServingSimError, match="'mine'"):
        code_of(SlotInput("mine", COUNT, "one", total_tokens))


def test_fan_out_and_mean_are_the_kernels_own_projection() -> None:
    """Defect: the slot input and the kernel's `project` disagree about what the axes mean."""
    config: Any = object()
    prefill = coordinates(PREFILL_REQUESTS, THREE)
    calls = [PREFILL.input(batch_size=3, q_len=64, prefix_len=512)]
    assert [PREFILL.project(config, call) for call in calls] == [tuple(prefill.coords[1])]
    decode = coordinates(DECODE_REQUESTS, THREE)
    call = DECODE.input(batch_size=3, total_kv_len=61)
    assert DECODE.project(config, call) == tuple(decode.coords[1])
    assert PREFILL_REQUESTS.axes == PREFILL.axes == MLA_PREFILL.axes
    assert DECODE_REQUESTS.axes == DECODE.axes == MLA_DECODE.axes
    assert PREFILL_LENGTHS.axes == GATED_DELTA_PREFILL.axes == MAMBA2_PREFILL.axes


LENGTHS = st.integers(1, 5000)
BATCHES = st.builds(
    Batch.of,
    st.lists(st.tuples(LENGTHS, st.integers(0, 5000), st.booleans()), min_size=1, max_size=6),
    st.lists(LENGTHS, max_size=6),
)
COMPILED = dispatcher(numba.njit)
PLAIN = dispatcher(lambda function: function)


@given(BATCHES, st.sampled_from(SLOT_INPUTS), st.sampled_from([1.0, 3.0, 8192.0]))
@settings(deadline=None)
def test_op_dispatcher_and_compiled_loop_share_one_definition(
    batch: Batch, member: SlotInput, width: float
) -> None:
    """Defect: a second copy of the arithmetic drifts; checked bit for bit through all three readers."""
    points = coordinates(member, Batches.of([batch]), width)
    for dispatch in (PLAIN, COMPILED):
        coords, weights = np.zeros((7, 4)), np.zeros(7)
        calls = dispatch(code_of(member), batch.rows, width, coords, weights)
        axes = len(member.axes)
        assert coords[:calls, :axes].tobytes() == np.ascontiguousarray(points.coords).tobytes()
        assert weights[:calls].tobytes() == points.weights.tobytes()


@given(BATCHES)
def test_prefill_weights_are_one_launch(batch: Batch) -> None:
    for member in (PREFILL_REQUESTS, PREFILL_LENGTHS):
        points = coordinates(member, Batches.of([batch]))
        assert points.weights.sum() == pytest.approx(1)


def test_nothing_sampled_means_no_lm_head() -> None:
    assert len(coordinates(SAMPLED_POSITIONS, Batches.of([CHUNK_ONLY])).coords) == 0
