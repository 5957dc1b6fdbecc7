"""What annotations of engines say of a step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.captures.step_names import StepName, step_name

VLLM_MIXED = (
    "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)"
)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("execute_context_1(888_788544)_generation_0(0)", StepName("prefill", 888, 1, 0)),
        ("execute_context_4(408)_generation_2(2)", StepName("mixed", 410, 4, 2)),
        ("execute_context_0(0)_generation_6(6)", StepName("decode", 6, 0, 6)),
        (VLLM_MIXED, StepName("mixed", 8192, 9, 37)),
        ("execute_32_context_0(sq0sk0)_generation_32(sq32sk32785)", StepName("decode", 32, 0, 32)),
        ("execute_new_2_cached_0", StepName("prefill", -1, 2, -1)),
        ("execute_new_0_cached_5", StepName("unknown", -1, -1, -1)),
        ("step[DECODE bs=32]", StepName("decode", 32, 0, 32)),
        ("step[EXTEND bs=2 toks=4096]", StepName("prefill", 4096, 2, 0)),
        ("step[MIXED bs=2]", StepName("mixed", -1, -1, -1)),
        ("step[TARGET_VERIFY bs=4]", StepName("decode", -1, 0, 4)),
        (
            "[Executor] _forward_step 12: 3 ctx reqs, 96 ctx tokens, 5 gen reqs",
            StepName("mixed", 101, 3, 5),
        ),
        (":decode_step14_tokens49", StepName("decode", 49)),
        (":prefill_step13_tokens2048", StepName("prefill", 2048)),
        ("Decode", StepName("decode")),
        ("ProfilerStep#551", StepName("unknown", engine=False)),
    ],
)
def test_an_annotation_says_phase_tokens_and_requests(name: str, says: StepName) -> None:
    """Defect: the squares of a prefill taken for its tokens; new and cached requests taken for a phase they are not."""
    assert step_name(name) == says


@pytest.mark.parametrize(
    "name",
    [
        "nccl:all_reduce",
        "decoder.layers.0",
        "gpu_model_runner: forward",
        "prefill_attention",
        "FSDP::forward",
        "",
    ],
)
def test_other_ranges_are_no_steps(name: str) -> None:
    """Defect: a range of one layer whose name begins with a phase became a step of its own."""
    assert step_name(name) is None


@given(st.text(max_size=200))
def test_any_name_is_read_or_is_none(name: str) -> None:
    """Defect: a name from a file ended the reading with a traceback."""
    step_name(name)
    step_name("execute_context_" + name)
    step_name("step[" + name)
