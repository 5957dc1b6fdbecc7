"""Launches given to steps: several ranks in one file, ranges inside ranges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profiling.captures.analysis import analyse
from profiling.captures.contract import KernelLaunch, Mark
from profiling.captures.loading import load
from profiling.captures.sink import ColumnSink

if TYPE_CHECKING:
    from profiling.captures.capture import Capture
    from tests.captures.conftest import Made, Writer

PREFILL = "execute_context_1(512_262144)_generation_0(0)"
DECODE = "execute_context_0(0)_generation_4(4)"


def analysed(marks: list[Mark], launches: list[KernelLaunch]) -> Capture:
    """What a reader of a file with several processes would hand on."""
    sink = ColumnSink()
    for mark in marks:
        sink.mark(mark)
    for launch in launches:
        sink.launch(launch)
    return analyse(Path("file"), "test", sink)


def test_ranks_of_one_file_keep_their_own_steps() -> None:
    """Defect: the launches of every rank given to the range of whichever rank began last."""
    capture = analysed(
        [Mark(PREFILL, 0, 1000, process=10), Mark(DECODE, 500, 1500, process=11)],
        [
            KernelLaunch("p", 700, 50, device=0, process=10, launched_ns=600),
            KernelLaunch("d", 700, 50, device=1, process=11, launched_ns=600),
        ],
    )

    assert {each.name: each.phase for each in capture.totals} == {"p": "prefill", "d": "decode"}
    assert [(each.index, each.share) for each in capture.devices] == [(0, 0.5), (1, 0.5)]


def test_ranges_of_two_threads_that_overlap_hold_their_launches() -> None:
    """Defect: a short range that began inside a longer one of another thread hid the rest of the longer one."""
    capture = analysed(
        [Mark(PREFILL, 0, 1000, thread=1), Mark(DECODE, 100, 200, thread=2)],
        [
            KernelLaunch("d", 2000, 50, launched_ns=150),
            KernelLaunch("p", 3000, 50, launched_ns=900),
        ],
    )

    assert {each.name: each.phase for each in capture.totals} == {"d": "decode", "p": "prefill"}


def test_without_launch_times_steps_are_told_as_given_by_time() -> None:
    """Defect: a guess by time shown with the certainty of a correlation."""
    capture = analysed([Mark(DECODE, 0, 1000)], [KernelLaunch("d", 500, 50)])

    assert capture.steps[0].phase == "decode"
    assert [each.count for each in capture.findings if each.kind == "assigned_by_time"] == [1]


def test_an_iteration_replayed_in_several_graphs_is_one_step(trace: Writer, made: type[Made]) -> None:
    """Defect: each piece of one token's graph counted as a step, and their launches as several iterations."""
    path = trace(
        [
            made.mark(DECODE, 0, 100),
            *(made.mark("step[DECODE bs=4]", 10 + 20 * at, 15) for at in range(3)),
            *(made.launch(1 + at, 12 + 20 * at, "cudaGraphLaunch") for at in range(3)),
            *(made.kernel("k", 200 + 10 * at, 5, correlation=1 + at) for at in range(3)),
        ]
    )

    (step,) = load(path).steps

    assert (step.name, step.launches) == (DECODE, 3)


def test_ranges_nested_without_end_are_read(trace: Writer, made: type[Made]) -> None:
    """Defect: a recursion as deep as the file's ranges."""
    marks = [made.mark("decode", at, 10_000 - 2 * at) for at in range(3000)]

    assert load(trace([*marks, made.kernel("k", 5000, 5)])).phases == ["decode"]


def test_gaps_are_told_with_what_ran_before_and_after(trace: Writer, made: type[Made]) -> None:
    """Defect: time on one stream called idle while another stream was at work."""
    path = trace(
        [
            made.kernel("a", 100, 10),
            made.kernel("long", 105, 40, stream=8),
            made.kernel("b", 120, 10),
            made.kernel("c", 175, 5),
        ]
    )

    (gap,) = load(path).gaps()

    assert (gap.after, gap.before, gap.start_ns, gap.duration_ns) == ("long", "c", 145_000, 30_000)
