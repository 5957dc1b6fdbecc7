"""Durations that cannot be true: found, told, and in no sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profiling.captures.fold import expand
from profiling.captures.loading import load
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.captures.conftest import Made, Writer

EPOCH = 1_365_627_862_757_064


@pytest.mark.parametrize(
    ("start", "duration", "fault"),
    [
        (20, 0, "zero"),
        (20, -1, "negative"),
        (20, -350, "negative"),
        (-EPOCH, 5, "no start time"),
        (20, 16_000_000, "reaches over the next"),
    ],
)
def test_a_broken_duration_is_told_and_left_out_of_every_sum(
    trace: Writer, made: type[Made], start: int, duration: int, fault: str
) -> None:
    """Defect: one event of 16 seconds took 99 % of the table; a negative one shrank it in silence."""
    path = trace(
        [
            made.kernel("good", EPOCH, 10),
            made.kernel("bad", EPOCH + start, duration),
            made.kernel("good", EPOCH + 40, 10),
            made.kernel("good", EPOCH + 60, 10),
        ]
    )

    capture = load(path)

    assert {each.name: (each.calls, each.total_ns, each.broken) for each in capture.totals} == {
        "good": (3, 30_000, 0),
        "bad": (0, 0, 1),
    }
    (finding,) = [each for each in capture.findings if each.kind == "broken_duration"]
    assert fault in finding.what
    assert (finding.count, finding.total_ns) == (1, duration * 1000)
    assert sum(each.share for each in capture.totals) == pytest.approx(1)
    assert sorted(expand(capture.sequence())) == ["bad", "good", "good", "good"]


def test_seven_events_in_a_row_that_reach_over_the_next_are_all_found(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: only the last of them was found, because each of the others ends before the next broken one does."""
    events = [made.kernel(f"bad{at}", EPOCH + 100 * at, 16_000_000) for at in range(7)]
    path = trace([*events, made.kernel("good", EPOCH + 1000, 10)])

    capture = load(path)

    assert capture.total_ns == 10_000
    assert sum(each.broken for each in capture.totals) == 7


def test_a_launch_that_drains_while_the_next_begins_counts_whole(trace: Writer, made: type[Made]) -> None:
    """Defect: dependent launches, which really overlap by microseconds, were thrown out with the broken ones."""
    path = trace(
        [
            made.kernel("a", EPOCH, 100),
            made.kernel("b", EPOCH + 96.3, 100),
            made.kernel("c", EPOCH + 184, 100),
        ]
    )

    capture = load(path)

    assert capture.total_ns == 300_000
    assert [(each.kind, each.count) for each in capture.findings if "overlap" in each.kind] == [
        ("slight_overlap", 2)
    ]


def test_streams_do_overlap_each_other(trace: Writer, made: type[Made]) -> None:
    """Defect: kernels of two streams or two devices that ran together were taken for broken ones."""
    path = trace(
        [
            made.kernel("a", EPOCH, 100),
            made.kernel("b", EPOCH + 10, 100, stream=8),
            made.kernel("c", EPOCH + 20, 100, device=1),
        ]
    )

    assert load(path).total_ns == 300_000


def test_an_event_written_twice_counts_once(trace: Writer, made: type[Made]) -> None:
    """Defect: traces merged from two files counted what both hold twice."""
    path = trace([made.kernel("a", EPOCH, 2), made.kernel("a", EPOCH, 2)])

    capture = load(path)

    assert (capture.total_ns, capture.totals[0].calls, capture.totals[0].broken) == (2_000, 1, 1)


def test_a_file_of_broken_durations_only_is_refused(trace: Writer, made: type[Made]) -> None:
    """Defect: a division by a total of zero."""
    with pytest.raises(ServingSimError, match="none with a duration that can be counted"):
        load(trace([made.kernel("a", EPOCH, 0), made.kernel("b", EPOCH + 5, -1)]))
