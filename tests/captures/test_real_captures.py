"""Captures of real engines: right kernels on top, nothing lost, nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiling.captures.fold import Part, expand
from profiling.captures.loading import load
from profiling.captures.sequence import launches_of
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.capture import Capture

B200 = "b200_vllm_gptoss120b_tp8_prefill888_eager.pt.trace.json.gz"
MI300X = "mi300x_sglang_qwen3-8b_tp1_decode_bs32.trace.json.gz"
ROCM = "rocm_vllm_gptoss20b_tp1_mixed_toks8192_piecewise.pt.trace.json.gz"


@pytest.fixture(scope="module")
def captures(shared_data: Path) -> dict[str, Capture]:
    return {name: load(shared_data / "captures" / "torch" / name) for name in (B200, MI300X, ROCM)}


@pytest.mark.shared
@pytest.mark.parametrize("name", [B200, MI300X, ROCM])
def test_nothing_is_lost_and_nothing_is_counted_twice(captures: dict[str, Capture], name: str) -> None:
    """Defect: kernels dropped or doubled on the way from the file to the table."""
    capture = captures[name]
    launches = capture.launches

    assert capture.total_ns == int(launches.duration_ns[launches.broken == 0].sum())
    assert sum(each.calls + each.broken for each in capture.totals) == len(launches)
    for phase in capture.phases:
        assert sum(each.share for each in capture.kernels(phase)) == pytest.approx(1)
    assert sum(each.share for each in capture.devices) == pytest.approx(1)
    for step in capture.steps:
        places = launches_of(capture, step.index)
        names = [launches.names[at] for at in launches.name[places]]
        assert expand(capture.sequence(step.index)) == names
        assert np.all(np.diff(launches.start_ns[places]) >= 0)
        assert step.busy_ns + step.gap_ns == step.wall_ns


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "phase", "tokens", "requests", "kernels"),
    [
        (B200, "prefill", 888, (1, 0), 768),
        (MI300X, "decode", 32, (0, 32), 555),
        (ROCM, "mixed", 8192, (9, 37), 413),
    ],
)
def test_the_step_is_what_the_engine_says(
    captures: dict[str, Capture],
    name: str,
    phase: str,
    tokens: int,
    requests: tuple[int, int],
    kernels: int,
) -> None:
    """Defect: the step of a replayed graph found empty, or a mixed step taken for a prefill."""
    capture = captures[name]

    (step,) = capture.steps
    assert (step.phase, step.tokens, (step.context_requests, step.generation_requests)) == (
        phase,
        tokens,
        requests,
    )
    assert int((capture.launches.kind == 0).sum()) == kernels
    assert not [each for each in capture.findings if each.kind in {"broken_duration", "outside_steps"}]


@pytest.mark.shared
def test_a_prefill_of_gpt_oss_has_its_experts_its_all_reduce_and_its_two_attentions_on_top(
    captures: dict[str, Capture],
) -> None:
    """Defect: expert GEMMs taken for dense ones, the reduction over the ranks taken for a reduction on one."""
    top = captures[B200].kernels("prefill")

    assert [(each.category, each.calls) for each in top[:3]] == [
        ("moe_gemm", 36),
        ("collective", 73),
        ("moe_gemm", 36),
    ]
    assert [each.calls for each in top if each.category == "add_norm"] == [72]
    attention = [each for each in top if each.category == "attention"]
    assert [("Sliding" in each.name, each.calls) for each in attention] == [(False, 18), (True, 18)]
    assert round(sum(each.total_ns for each in top if each.kind == "kernel") / 1e6, 2) == 10.86


@pytest.mark.shared
def test_layers_come_out_of_the_sequence(captures: dict[str, Capture]) -> None:
    """Defect: 36 layers, full and sliding in turn, told as nine hundred names."""
    main = max(captures[B200].sequence(), key=lambda part: part.length)
    decode = max(captures[MI300X].sequence(), key=lambda part: part.length)

    assert (main.repeat, main.length) == (18, 900)
    assert decode.repeat == 30
    assert any(isinstance(each, Part) for each in decode.body)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hta_cpu_only.pt.trace.json.gz", "of the host alone"),
        ("hta_no_gpu_events_no_deviceProperties.json.gz", "of the host alone"),
    ],
)
def test_traces_without_a_device_say_so(shared_data: Path, name: str, said: str) -> None:
    """Defect: an empty table for a trace of the host."""
    with pytest.raises(ServingSimError, match=said):
        load(shared_data / "captures" / "edge" / name)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "launches", "steps", "total_ns"),
    [
        ("hta_old_capitalised_cats_Kernel.json.gz", 4, 0, 30_000),
        ("hta_sampled_no_deviceProperties.json.gz", 1204, 2, 607_844_000),
        ("mi300x_torchcompile_triton_tiny.trace.json.gz", 12, 0, 12_549_021),
    ],
)
def test_old_and_sparse_traces_are_read_whole(
    shared_data: Path, name: str, launches: int, steps: int, total_ns: int
) -> None:
    """Defect: files of other versions read as holding nothing."""
    capture = load(shared_data / "captures" / "edge" / name)

    assert (len(capture.launches), len(capture.steps), capture.total_ns) == (launches, steps, total_ns)


@pytest.mark.shared
def test_an_engine_on_the_cpu_is_told_by_its_operations(shared_data: Path) -> None:
    """Defect: a real run on the CPU refused as if its device had not been traced."""
    capture = load(shared_data / "e2e" / "vllm_cpu" / "vllm_cpu_eager.trace.json.gz")

    assert [step.phase for step in capture.steps] == ["prefill", "mixed", *["decode"] * 5]
    assert capture.kernels("prefill")[0].name == "_C::onednn_mm"
    assert not [each for each in capture.findings if each.kind == "broken_duration"]
