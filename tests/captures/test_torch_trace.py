"""Traces of torch.profiler: who launched what, in which step, on which device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from profiling.captures.loading import load
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.captures.conftest import Made, Writer

PREFILL = "execute_context_1(512_262144)_generation_0(0)"
DECODE = "execute_context_0(0)_generation_4(4)"


def test_a_kernel_belongs_to_the_step_that_launched_it_however_late_it_runs(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: kernels given to steps by when they run: a device runs behind its host."""
    path = trace(
        [
            made.mark(PREFILL, 0, 100),
            made.mark(DECODE, 100, 100),
            made.launch(1, 50),
            made.launch(2, 150),
            made.kernel("gemm_prefill", 160, 300, correlation=1),
            made.kernel("gemm_decode", 500, 20, correlation=2),
        ]
    )

    capture = load(path)

    assert [(step.phase, step.tokens, step.requests) for step in capture.steps] == [
        ("prefill", 512, 1),
        ("decode", 4, 4),
    ]
    assert {kernel.phase: kernel.name for kernel in capture.totals} == {
        "prefill": "gemm_prefill",
        "decode": "gemm_decode",
    }


def test_kernels_of_a_graph_replay_take_step_and_time_from_the_one_call_that_replayed_them(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: kernels of a replay carry no External id and were left outside every step, or counted as one kernel."""
    path = trace(
        [
            made.mark("step[DECODE bs=32]", 0, 100),
            made.launch(5, 10, "hipGraphLaunch"),
            *(made.kernel("gemm", 200 + 10 * at, 8, correlation=5) for at in range(3)),
        ]
    )

    (kernel,) = load(path).kernels("decode")

    assert (kernel.calls, kernel.total_ns, kernel.graph, kernel.cpu_op) == (3, 24_000, True, "")


def test_a_kernel_names_the_host_operation_and_its_shapes(trace: Writer, made: type[Made]) -> None:
    """Defect: the operation is found only where it stands before the kernel in the file; profilers write any order."""
    path = trace(
        [
            made.kernel("ampere_sgemm", 20, 5, correlation=1),
            made.launch(1, 11, external=7),
            made.operation("aten::mm", 7, 10, 4, [[16, 64], [64, 32]]),
        ]
    )

    (kernel,) = load(path).totals

    assert (kernel.cpu_op, kernel.shapes, kernel.category) == ("aten::mm", "[[16,64],[64,32]]", "gemm")


def test_times_keep_their_nanoseconds_where_a_double_would_not(tmp_path: Path) -> None:
    """Defect: an epoch in microseconds with three decimals read as a double is off by up to 128 ns a start."""
    first = (
        '{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1365627862757064.123,"dur":1.001,"args":{}}'
    )
    second = (
        '{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":1365627862757065.124,"dur":1.001,"args":{}}'
    )
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents":[' + first + "," + second + "]}")

    capture = load(path)

    assert capture.launches.start_ns.tolist() == [1365627862757064123, 1365627862757065124]
    assert not [each for each in capture.findings if "overlap" in each.kind]


def test_old_capitalised_categories_and_a_missing_device_are_read(trace: Writer) -> None:
    """Defect: traces of old versions say `Kernel` and `external id` and were read as holding nothing."""
    event = {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {}}

    capture = load(trace([event]))

    assert (capture.total_ns, capture.devices[0].index, capture.devices[0].name) == (5_000, 0, "")


def test_device_and_rank_are_read_where_they_stand_after_the_events(tmp_path: Path, made: type[Made]) -> None:
    """Defect: metadata behind the events was not reached, and the device stayed unnamed."""
    text = json.dumps({"traceEvents": [made.kernel("k", 10, 5)]})[:-1]
    path = tmp_path / "t.json"
    path.write_text(
        text + ', "deviceProperties": [{"id": 0, "name": "NVIDIA B200"}], "distributedInfo": {"rank": 3}}'
    )

    capture = load(path)

    assert (capture.devices[0].name, capture.facts["rank"]) == ("NVIDIA B200", "3")


def test_a_nested_annotation_is_one_step_with_what_both_say(trace: Writer, made: type[Made]) -> None:
    """Defect: SGLang's own range inside vLLM-like ones made two steps of one iteration, each with half the kernels."""
    path = trace(
        [
            made.mark(
                "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)", 0, 100
            ),
            made.mark("step[DECODE bs=32]", 10, 80),
            made.launch(1, 5),
            made.launch(2, 50),
            made.kernel("a", 200, 5, correlation=1),
            made.kernel("b", 210, 5, correlation=2),
        ]
    )

    (step,) = load(path).steps

    assert (step.phase, step.tokens, step.generation_requests, step.launches) == ("decode", 32, 32, 2)


def test_a_profilers_own_step_gives_way_to_an_engines(trace: Writer, made: type[Made]) -> None:
    """Defect: `ProfilerStep#1` around three iterations made one step of unknown phase of them."""
    path = trace(
        [
            made.mark("ProfilerStep#1", 0, 300),
            *(made.mark(DECODE, 100 * at, 90) for at in range(3)),
            *(made.launch(1 + at, 100 * at + 10) for at in range(3)),
            *(made.kernel("k", 1000 + 10 * at, 5, correlation=1 + at) for at in range(3)),
        ]
    )

    assert [step.phase for step in load(path).steps] == ["decode"] * 3


def test_annotations_of_the_device_serve_where_launches_do_not_say_their_time(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: without the host's calls, kernels were given to the host's range of that time: another step's."""
    path = trace(
        [
            made.mark(PREFILL, 0, 100),
            made.mark(DECODE, 100, 100),
            made.mark(PREFILL, 150, 100, on_device=True),
            made.mark(DECODE, 260, 100, on_device=True),
            made.kernel("p", 160, 20),
            made.kernel("d", 270, 20),
        ]
    )

    assert {kernel.name: kernel.phase for kernel in load(path).totals} == {"p": "prefill", "d": "decode"}


def test_what_no_step_launched_stands_under_unknown_and_is_told(trace: Writer, made: type[Made]) -> None:
    """Defect: sampling after the annotated range was dropped, and the shares no longer told of all the time."""
    path = trace(
        [
            made.mark(DECODE, 0, 100),
            made.launch(1, 50),
            made.launch(2, 150),
            made.kernel("gemm", 60, 5, correlation=1),
            made.kernel("sample", 160, 7, correlation=2),
        ]
    )

    capture = load(path)

    assert [(each.name, each.phase, each.share) for each in capture.totals] == [
        ("sample", "unknown", 1.0),
        ("gemm", "decode", 1.0),
    ]
    (finding,) = [each for each in capture.findings if each.kind == "outside_steps"]
    assert (finding.count, finding.total_ns) == (1, 7_000)


def test_the_phase_that_a_caller_knows_is_used_where_the_file_says_none(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: a trace without annotations could not be placed at all."""
    path = trace([made.kernel("k", 10, 5)])

    assert (load(path).phases, load(path, phase="decode").phases) == (["unknown"], ["decode"])


def test_operations_of_an_engine_on_the_cpu_are_its_kernels_each_with_its_own_time(
    trace: Writer, made: type[Made]
) -> None:
    """Defect: an operation's time held that of the operations inside it, and was counted twice."""
    path = trace(
        [
            made.mark(DECODE, 0, 100),
            made.operation("aten::linear", 1, 10, 50),
            made.operation("aten::mm", 2, 15, 40),
            made.operation("aten::silu", 3, 70, 10),
        ]
    )

    capture = load(path)

    assert {each.name: each.total_ns for each in capture.kernels("decode")} == {
        "aten::mm": 40_000,
        "aten::linear": 10_000,
        "aten::silu": 10_000,
    }
    assert capture.steps[0].busy_ns == 60_000
    assert "host_only" in {each.kind for each in capture.findings}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("operation", "aten::mm", 1, 5, 5)], "of the host alone"),
        ([("launch", 1, 5)], "no execution on a device"),
        ([("launch", 1, 4, "cudaStreamBeginCapture"), ("launch", 2, 5)], "graph capture"),
        ([("mark", "anything", 1, 5)], "none of them a kernel"),
        ([], "no event"),
    ],
)
def test_a_trace_without_kernels_says_which_kind_it_is(
    trace: Writer, made: type[Made], events: list[tuple[Any, ...]], said: str
) -> None:
    """Defect: every such file gave the same 'no kernels', or an empty table."""
    path = trace([getattr(made, kind)(*values) for kind, *values in events])

    with pytest.raises(ServingSimError) as refused:
        load(path)

    assert said in refused.value.what
    assert refused.value.hint


def test_launches_without_a_kernel_are_told(trace: Writer, made: type[Made]) -> None:
    """Defect: a record whose first kernels are missing read as a complete step."""
    path = trace([made.launch(1, 5), made.launch(2, 6), made.kernel("k", 10, 5, correlation=2)])

    (finding,) = [each for each in load(path).findings if each.kind == "lost_launches"]

    assert finding.count == 1
