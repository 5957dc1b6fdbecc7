"""Sequences told as repetitions: nothing is lost, and the layers come out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profiling.captures.fold import Part, expand, fold, lines

NAMES = "abcdefgh"
SHORT = st.lists(st.integers(0, 7), max_size=60)


def folded(text: str) -> list[Part]:
    return fold(np.asarray([NAMES.index(each) for each in text]), lambda at: NAMES[at])


@settings(max_examples=150, deadline=None)
@given(head=SHORT, body=SHORT, repeat=st.integers(1, 9), tail=SHORT)
def test_expansion_equals_the_original(
    head: list[int], body: list[int], repeat: int, tail: list[int]
) -> None:
    """Defect: a launch dropped or doubled at the edge of a repetition."""
    sequence = [*head, *body * repeat, *tail]

    parts = fold(np.asarray(sequence, np.int64), lambda at: NAMES[at])

    assert expand(parts) == [NAMES[at] for at in sequence]
    assert sum(part.length for part in parts) == len(sequence)


def test_layers_are_one_body_between_what_is_before_and_after_them() -> None:
    """Defect: the embedding and the first layer's norm shifted the body, and no repetition was found."""
    assert folded("h" + "abcd" * 24 + "gf") == [
        Part(1, ("h",)),
        Part(24, tuple("abcd")),
        Part(1, ("g", "f")),
    ]


def test_layers_of_two_classes_fold_inside_their_repetition() -> None:
    """Defect: sliding and full layers in turn, each with repeated launches inside, were told flat."""
    assert folded("abbbbcd" * 12) == [Part(12, ("a", Part(4, ("b",)), "c", "d"))]


def test_an_empty_sequence_and_a_single_name_fold() -> None:
    """Defect: an index error on a step without launches."""
    assert folded("") == []
    assert folded("a") == [Part(1, ("a",))]


def test_printed_lines_count_every_launch() -> None:
    """Defect: a repetition of one name printed once."""
    assert lines(folded("hhh" + "ab" * 5)) == [(0, "h", 3), (0, "", 5), (1, "a", 1), (1, "b", 1)]


def test_a_long_sequence_without_repetition_folds_in_bounded_time() -> None:
    """Defect: a search of every period at every place: hours on a step of a hundred thousand launches."""
    sequence = np.random.default_rng(7).integers(0, 500, 30_000)

    assert expand(fold(sequence, str)) == [str(each) for each in sequence]
