"""A kernel asked through its public door."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from servingsim.errors import CoverageError, ServingSimError
from servingsim.timing.coverage import EXTRAPOLATED, NO_COVERAGE, OnMissing
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.all_gather import KERNEL as ALL_GATHER
from servingsim.timing.kernels.all_gather import AllGatherConfig
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL
from servingsim.timing.kernels.attention_prefill import AttentionPrefillConfig
from servingsim.timing.kernels.single_gemm import KERNEL, SingleGemmConfig, SingleGemmInput
from servingsim.timing.source import ArgValue, DeviceSpec, FloatArray, MemorySource


def add_gemm(source: MemorySource, times: dict[int, float], backend: str = "torch") -> MemorySource:
    for m, time_ms in times.items():
        shape: dict[str, ArgValue] = {"m": m, "n": 64, "k": 64, "dtype": "bf16"}
        source.add("single_gemm", "dev", backend, shape, time_ms)
    return source


def gemm(
    source: MemorySource,
    *,
    device: str = "dev",
    backends: tuple[str, ...] = (),
    max_m: int = 1024,
    on_missing: OnMissing = "refuse",
) -> Kernel:
    config = SingleGemmConfig(gpu_name=device, backends=backends, n=64, k=64, dtype="bf16", max_m=max_m)
    return Kernel.build("layer.gemm", KERNEL, config, source, on_missing=on_missing)


def ms(*values: float) -> FloatArray:
    return np.array(values, dtype=float)[:, None]


def test_the_fastest_backend_wins_at_each_point_and_is_named(source: MemorySource) -> None:
    """Defect: one backend for all shapes, or a time whose origin nobody can tell."""
    add_gemm(source, {16: 1.0, 1024: 4.0}, "small")
    add_gemm(source, {16: 2.0, 1024: 3.0}, "large")
    kernel = gemm(source)
    answer = kernel.eval(ms(16, 1024))
    assert [table.backend for table in kernel.tables] == ["large", "small"]
    assert answer.backend.tolist() == [1, 0]
    assert answer.time_ms.tolist() == [1.0, 3.0]
    assert answer.flags.tolist() == [0, 0]
    assert answer.backend.dtype == np.int8
    assert answer.flags.dtype == np.uint8
    each = kernel.times_by_backend(ms(16))
    assert {name: times.tolist() for name, times in each.items()} == {"large": [2.0], "small": [1.0]}


def test_a_covered_answer_goes_before_a_faster_extrapolated_one(source: MemorySource) -> None:
    """Defect: a backend wins by a rate that it was never seen to hold."""
    add_gemm(source, {1: 1.0, 64: 1.1}, "narrow")
    add_gemm(source, {1: 5.0, 1024: 80.0}, "wide")
    kernel = gemm(source)
    answer = kernel.eval(ms(32, 512, 4096))
    assert [kernel.tables[index].backend for index in answer.backend] == ["narrow", "wide", "narrow"]
    assert answer.flags.tolist() == [0, 0, EXTRAPOLATED]


def test_named_backends_are_the_only_candidates(source: MemorySource) -> None:
    add_gemm(source, {16: 1.0}, "fast")
    add_gemm(source, {16: 2.0}, "slow")
    assert gemm(source, backends=("slow",)).eval(ms(16)).time_ms.tolist() == [2.0]


def test_an_unknown_backend_is_refused_with_the_known_ones(source: MemorySource) -> None:
    """Defect: a slip in a name estimates instead of reading the rows that are there."""
    add_gemm(source, {16: 1.0}, "torch")
    with pytest.raises(CoverageError, match="no rows of torhc") as raised:
        gemm(source, backends=("torhc",))
    assert "torch" in raised.value.known
    assert "did you mean 'torch'?" in raised.value.hint


def test_no_rows_are_refused_with_the_command_that_measures_them(source: MemorySource) -> None:
    with pytest.raises(CoverageError) as raised:
        gemm(source, backends=("torch",), max_m=4)
    error = raised.value
    assert (error.code, "n 64, k 64, dtype bf16 on 'dev'" in error.what) == ("E_COVERAGE", True)
    assert error.known == "backends with rows of single_gemm there: none"
    assert error.hint == (
        "python -m profiling run single_gemm --backend torch --db DB "
        """--spec '{"m":[1,4],"n":64,"k":64,"dtype":"bf16"}'"""
    )


def test_an_imported_backend_is_not_told_to_be_measured(source: MemorySource) -> None:
    with pytest.raises(CoverageError) as raised:
        gemm(source, backends=("vllm-0.24.0:x",))
    assert "import" in raised.value.hint
    assert "profiling run" not in raised.value.hint


def test_an_estimate_is_the_limit_over_the_devices_fastest_row_and_says_so(source: MemorySource) -> None:
    """Defect: an estimate that passes for a measurement."""
    source.add("rms_norm", "dev", "torch", {"num_tokens": 1}, 0.25)
    kernel = gemm(source, on_missing="estimate")
    answer = kernel.eval(ms(64))
    moved = 2 * 3 * 64 * 64
    assert answer.time_ms.tolist() == pytest.approx([moved / 1e11 * 1e3 + 0.25])
    assert (answer.flags.tolist(), answer.backend.tolist()) == ([NO_COVERAGE], [-1])
    assert (kernel.tables, kernel.estimate.origin) == ((), "estimated")
    assert "bytes / 1e+11 per s" in kernel.estimate.source
    assert "0.25 ms" in kernel.estimate.source


def test_an_estimate_over_a_link_is_bound_by_the_link(source: MemorySource) -> None:
    """Defect: a collective estimated at memory bandwidth, ten times too fast."""
    over_link = dataclasses.replace(KERNEL, over_link=True)
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="bf16")
    kernel = Kernel.build("x", over_link, config, source, on_missing="estimate")
    assert kernel.eval(ms(64)).time_ms.tolist() == pytest.approx([3 * 64 * 64 / 1e10 * 1e3])


def test_without_any_known_limit_there_is_no_estimate(source: MemorySource) -> None:
    source.devices["dev"] = DeviceSpec("dev", {}, 0.0, 0)
    kernel = gemm(source, on_missing="estimate")
    assert len(kernel.eval(np.empty((0, 1))).time_ms) == 0, "a kernel that is not launched needs none"
    assert np.isnan(kernel.limit_ms(ms(1))).all()
    with pytest.raises(CoverageError, match="no limit of 'dev'"):
        kernel.eval(ms(1))


def test_rows_answer_where_no_limit_is_known(source: MemorySource) -> None:
    source.devices["dev"] = DeviceSpec("dev", {}, 0.0, 0)
    kernel = gemm(add_gemm(source, {16: 1.0, 64: 2.0}))
    answer = kernel.eval(ms(16, 40, 128))
    assert answer.time_ms[0] == 1.0
    assert 1.0 < answer.time_ms[1] < 2.0
    assert answer.time_ms[2] > 2.0


def test_a_value_that_no_row_speaks_for_is_refused_or_estimated(source: MemorySource) -> None:
    """Defect: rows of fresh prefills answer for chunked ones."""
    heads: dict[str, Any] = {
        "num_heads": 8,
        "num_kv_heads": 8,
        "head_dim": 64,
        "dtype": "bf16",
        "kv_dtype": "bf16",
    }
    for batch_size in (1, 2):
        for q_len in (16, 64):
            shape = heads | {"batch_size": batch_size, "q_len": q_len, "prefix_len": 0, "window_size": 0}
            source.add("attention_prefill", "dev", "torch", shape, 1.0 * batch_size * q_len)
    config = AttentionPrefillConfig(gpu_name="dev", **heads)
    coords = np.array([[1.0, 16, 0], [1.0, 16, 256]])
    with pytest.raises(CoverageError, match="prefix_len = 256") as raised:
        Kernel.build("attn", PREFILL, config, source).eval(coords)
    assert (
        "measure a second value of prefix_len: python -m profiling run attention_prefill" in raised.value.hint
    )
    with pytest.raises(CoverageError, match="prefix_len = 256"):  # rows are there: no kernel without any
        Kernel.build("attn", PREFILL, config, source, on_missing="estimate").eval(coords)
    answer = Kernel.build("attn", PREFILL, config, source, on_missing="estimate-all").eval(coords)
    assert answer.flags.tolist() == [0, NO_COVERAGE]
    assert answer.backend.tolist() == [0, -1]


def test_work_and_limit_are_the_kinds_own(source: MemorySource) -> None:
    kernel = gemm(add_gemm(source, {16: 1.0}))
    assert kernel.project(SingleGemmInput(m=16)) == (16.0,)
    assert float(kernel.work(ms(16)).flops[0]) == 2 * 16 * 64 * 64  # type: ignore[index]
    assert kernel.limit_ms(ms(16)).tolist() == pytest.approx([2 * (2 * 16 * 64 + 64 * 64) / 1e11 * 1e3])


def test_bytes_bound_only_what_the_last_level_cache_cannot_hold(source: MemorySource) -> None:
    """Defect: rows measured from a warm cache called impossible."""
    source.devices["dev"] = dataclasses.replace(source.devices["dev"], last_level_cache_bytes=10**6)
    kernel = gemm(add_gemm(source, {16: 1.0}))
    assert kernel.limit_ms(ms(16)).tolist() == pytest.approx([2 * 16 * 64 * 64 / 1e14 * 1e3])
    assert kernel.roofline_ms(ms(16)).tolist() == pytest.approx([2 * (2 * 16 * 64 + 64 * 64) / 1e11 * 1e3])


def test_missing_lists_grid_points_without_a_row_of_any_candidate(source: MemorySource) -> None:
    kernel = gemm(add_gemm(source, {1: 1.0, 8: 1.0}), max_m=8, backends=("torch",))
    assert kernel.missing() == [{"m": 4, "n": 64, "k": 64, "dtype": "bf16", "backend": "torch"}]
    assert list(kernel.missing()[0]) == ["m", "n", "k", "dtype", "backend"]
    unmeasured = gemm(MemorySource(source.devices), on_missing="estimate", max_m=2)
    assert unmeasured.missing() == [{"m": m, "n": 64, "k": 64, "dtype": "bf16"} for m in (1, 2)]


def test_noise_is_the_median_of_what_is_known(source: MemorySource) -> None:
    assert np.isnan(gemm(add_gemm(source, {16: 1.0})).tables[0].noise_median)


def test_an_unknown_device_is_refused_with_the_known_ones(source: MemorySource) -> None:
    with pytest.raises(ServingSimError, match="'gpu9'") as raised:
        gemm(source, device="gpu9")
    assert raised.value.known == "dev"


@pytest.mark.parametrize("bad", [float("nan"), -1.0, float("inf")])
def test_coordinates_that_are_no_size_are_refused(bad: float, source: MemorySource) -> None:
    with pytest.raises(ServingSimError, match="m = "):
        gemm(add_gemm(source, {16: 1.0})).eval(ms(bad))


def test_a_row_that_is_no_time_is_refused_with_its_shape_and_backend(source: MemorySource) -> None:
    with pytest.raises(ServingSimError, match=r"single_gemm \[torch on dev\]: time 0.0 ms at m = 16"):
        gemm(add_gemm(source, {16: 0.0, 32: 1.0}))


def test_more_than_500_grid_points_are_refused(source: MemorySource) -> None:
    """R.2: the ceiling holds for the grid that is measured; imported tables may be larger."""
    add_gemm(source, {m: float(m) for m in range(1, 700)})
    wide = dataclasses.replace(KERNEL, sweep_grid=lambda _: (tuple(range(1, 502)),), kind="single_gemm")
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="bf16")
    with pytest.raises(ServingSimError, match="501 feasible coordinates") as raised:
        Kernel.build("x", wide, config, source)
    assert raised.value.code == "E_LIMIT"


@pytest.mark.parametrize(
    ("cache", "what", "known"),
    [("linear_2d", "has 1 axes", "reads 2 axes"), ("nearest", "unknown cache 'nearest'", "linear_2d")],
)
def test_a_cache_that_does_not_fit_is_refused(
    cache: str, what: str, known: str, source: MemorySource
) -> None:
    add_gemm(source, {16: 1.0})
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="bf16")
    with pytest.raises(ServingSimError, match=what) as raised:
        Kernel.build("x", dataclasses.replace(KERNEL, cache=cache), config, source)
    assert known in raised.value.known


def test_another_kinds_table_is_read_through_profile_kind(source: MemorySource) -> None:
    add_gemm(source, {16: 3.0})
    alias = dataclasses.replace(KERNEL, kind="lm_head", profile_kind="single_gemm")
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="bf16")
    assert Kernel.build("x", alias, config, source).eval(ms(16)).time_ms.tolist() == [3.0]


def test_a_link_moves_bytes_whatever_the_elements_are(source: MemorySource) -> None:
    """Defect: NCCL's rows of half precision say nothing about a bf16 model, whose collectives are then estimated."""
    for size, time_ms in {1024: 0.01, 65536: 0.02}.items():
        source.add(
            "all_gather", "dev", "nccl", {"num_ranks": 2, "message_bytes": size, "dtype": "fp16"}, time_ms
        )
    of_bf16, of_fp32 = (
        Kernel.build(
            "gather",
            ALL_GATHER,
            AllGatherConfig(gpu_name="dev", num_ranks=2, dtype=dtype, max_message_bytes=65536),
            source,
            on_missing="estimate-all",
        )
        for dtype in ("bf16", "fp32")
    )
    (table,) = of_bf16.tables
    assert "of dtype fp16" in table.provenance.source
    assert of_bf16.eval(ms(1024)).time_ms.tolist() == [0.01]
    assert of_fp32.tables == ()
