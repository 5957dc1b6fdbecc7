"""A batch from plain lists: what is accepted, what is refused, and its flat form."""

from __future__ import annotations

from typing import Any

import pytest

from servingsim.errors import ServingSimError
from servingsim.timing.batch import Batch, Batches


def test_defaults_and_counts() -> None:
    batch = Batch.of(prefill=[(128,), [64, 512], (32, 0, False)], decode=[513, 7])
    assert batch.rows.prefix_len.tolist() == [0, 512, 0]
    assert batch.rows.samples.tolist() == [True, True, False]
    assert (batch.num_requests, batch.num_tokens) == (5, 226)
    assert (batch.context_tokens, batch.longest_context) == (128 + 576 + 32 + 520, 576)


def test_arrays_are_read_only() -> None:
    """Defect: one reader changes the batch under another."""
    with pytest.raises(ValueError, match="read-only"):
        Batch.of(decode=[1]).rows.kv_len[0] = 2


@pytest.mark.parametrize(
    ("prefill", "decode", "message"),
    [
        ([], [], "empty"),
        ([(0,)], [], "q_len is 0"),
        ([(-5,)], [], "q_len is -5"),
        ([(1.5,)], [], "q_len is 1.5"),
        ([(True,)], [], "q_len is true"),
        ([("128",)], [], 'q_len is "128"'),
        ([(16, -1)], [], "prefix_len is -1"),
        ([(16, 2**24)], [], "prefix_len is 16777216"),
        ([()], [], "not a prefill request"),
        ([(1, 2, True, 4)], [], "not a prefill request"),
        ([7], [], "not a prefill request"),
        ([(1, 2, 3)], [], "samples 3"),
        ([], [0], r"decode\[0\] is 0"),
        ([], [10**18], "is 1000000000000000000"),
        ([], [1] * 8193, "8193 requests"),
        ([(2**20,), (1,)], [], "1048577 new tokens"),
    ],
)
def test_bad_batches_are_refused_with_the_value(prefill: list[Any], decode: list[Any], message: str) -> None:
    with pytest.raises(ServingSimError, match=message):
        Batch.of(prefill, decode)


def test_batches_keep_every_iteration_apart() -> None:
    parts = [Batch.of([(4, 8)], [9]), Batch.of([], [1, 2]), Batch.of([(5,), (6,)], [])]
    batches = Batches.of(parts)
    assert len(batches) == 3
    for index, part in enumerate(parts):
        assert [column.tolist() for column in batches.at(index)] == [c.tolist() for c in part.rows]


def test_no_iteration_is_refused() -> None:
    with pytest.raises(ServingSimError, match="no iteration"):
        Batches.of([])
