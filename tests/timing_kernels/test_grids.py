"""Sweep grids: bounded, ordered, inside their Config's domain, no larger than a small machine can measure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servingsim.errors import ServingSimError
from servingsim.timing.contract import MAX_FEASIBLE_COORDINATES, KernelConfig, KernelInput, KernelKind
from servingsim.timing.grid import up_to, within_window
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL
from servingsim.timing.kernels.gated_delta_decode import KERNEL as GATED_DELTA_DECODE
from servingsim.timing.kernels.gated_delta_prefill import KERNEL as GATED_DELTA_PREFILL
from servingsim.timing.kernels.mla_decode import KERNEL as MLA_DECODE
from servingsim.timing.kernels.mla_prefill import KERNEL as MLA_PREFILL
from servingsim.timing.kernels.single_gemm import KERNEL as SINGLE_GEMM
from servingsim.timing.registry import kernels

SHIPPED = sorted(kernels())
DrawConfig = Callable[[st.DataObject, KernelKind[Any, Any]], KernelConfig]
LLAMA_8B = {
    "gpu_name": "g",
    "num_heads": 32,
    "num_kv_heads": 8,
    "head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "bf16",
}
QWEN3_06B = LLAMA_8B | {"num_heads": 16}
DEEPSEEK_V3 = {
    "num_heads": 16,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "bf16",
}
QWEN3_NEXT = {"num_k_heads": 16, "num_v_heads": 32, "k_head_dim": 128, "v_head_dim": 128, "dtype": "bf16"}


def _count(kind: KernelKind[Any, Any], fields: dict[str, Any]) -> int:
    return len(kind.feasible_coordinates(kind.config(**fields)))


@pytest.mark.parametrize("name", SHIPPED)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_any_valid_config_has_a_grid_under_the_ceiling(
    name: str, data: st.DataObject, draw_config: DrawConfig
) -> None:
    """A grid that some Config blows past 500 would make that model unprofilable (R.2)."""
    kind = kernels()[name]
    config = draw_config(data, kind)
    coords = kind.feasible_coordinates(config)
    assert 1 <= len(coords) <= MAX_FEASIBLE_COORDINATES
    for values in kind.sweep_grid(config):
        assert list(values) == sorted(set(values)), "an axis that is not increasing breaks every cache"


def test_the_largest_domain_stays_under_the_ceiling() -> None:
    """The corner of all bounds at once, with the window that adds most points to an axis."""
    counts = []
    for batch, short, window in product((4097, 6144, 8192), (0, 1), (0, 2**23 + 1, 2**24 - 2)):
        bounds = {"max_num_tokens": 2**20, "max_batch_size": batch, "max_kv_len": 2**24 - short}
        counts.append(_count(PREFILL, LLAMA_8B | bounds | {"window_size": window}))
    bounds = {"max_batch_size": 2**13, "max_kv_len": 2**24, "max_kv_tokens": 2**32, "window_size": 3 * 2**22}
    counts.append(_count(DECODE, LLAMA_8B | bounds))
    assert max(counts) <= MAX_FEASIBLE_COORDINATES


def _toy(sizes: tuple[int, int]) -> KernelKind[KernelConfig, KernelInput]:
    """A kind of two axes, masked to the first value of the second."""
    return KernelKind(
        kind="toy",
        config=KernelConfig,
        input=KernelInput,
        args=("a", "b"),
        axes=("a", "b"),
        work_model=SINGLE_GEMM.work_model,
        sweep_grid=lambda _: (range(sizes[0]), range(1, sizes[1] + 1)),  # type: ignore[arg-type, return-value]
        cache="linear_2d",
        feasible=lambda _, coords: coords[1] == 1,
    )


@pytest.mark.parametrize("points", [500, 501])
def test_the_ceiling_is_500_after_the_mask(points: int) -> None:
    """One point more is refused with the axes and the count; a masked one does not count."""
    kind, config = _toy((points, 2)), KernelConfig(gpu_name="g")
    if points == 500:
        assert len(kind.feasible_coordinates(config)) == 500
        return
    with pytest.raises(ServingSimError, match="501 feasible coordinates") as refusal:
        kind.feasible_coordinates(config)
    assert refusal.value.code == "E_LIMIT"
    assert "a 501 x b 2" in refusal.value.what
    assert "500" in refusal.value.known


def test_a_grid_of_a_million_million_cells_is_refused_at_once() -> None:
    """Counting it cell by cell would hang whoever checks an agent's kernel."""
    with pytest.raises(
        ServingSimError, match=r"1000000000000 cells before the mask \(a 1000000 x b 1000000\)"
    ):
        _toy((10**6, 10**6)).feasible_coordinates(KernelConfig(gpu_name="g"))


@pytest.mark.parametrize(
    ("kind", "fields", "count"),
    [
        (SINGLE_GEMM, {"n": 4096, "k": 4096, "dtype": "bf16", "max_m": 16384}, 39),
        (PREFILL, LLAMA_8B | {"max_num_tokens": 16384, "max_batch_size": 512, "max_kv_len": 131072}, 186),
        (DECODE, LLAMA_8B | {"max_batch_size": 512, "max_kv_len": 131072}, 130),
        (MLA_PREFILL, DEEPSEEK_V3, 186),
        (MLA_DECODE, DEEPSEEK_V3, 130),
        (GATED_DELTA_PREFILL, QWEN3_NEXT, 59),
        (GATED_DELTA_DECODE, QWEN3_NEXT, 10),
        (SINGLE_GEMM, {"n": 1024, "k": 3072, "dtype": "bf16", "max_m": 1024}, 22),
        (PREFILL, QWEN3_06B | {"max_num_tokens": 1024, "max_batch_size": 16, "max_kv_len": 1024}, 40),
        (DECODE, QWEN3_06B | {"max_batch_size": 16, "max_kv_len": 1024}, 35),
    ],
)
def test_the_price_of_profiling_a_known_deployment(
    kind: KernelKind[Any, Any], fields: dict[str, Any], count: int
) -> None:
    """A point more on an axis is minutes of somebody's machine: it must not slip in unseen."""
    assert _count(kind, {"gpu_name": "g"} | fields) == count


def test_a_product_is_measured_on_both_sides_of_a_tiles_edge_with_at_most_40_sizes() -> None:
    """Defect: a grid of multiples alone, between which the row that opens a tile or a wave cannot be told."""
    config = SINGLE_GEMM.config(gpu_name="g", n=8, k=8, dtype="bf16", max_m=1000)
    assert SINGLE_GEMM.sweep_grid(config) == (
        (1, 4, 8, 16, 32, 64, 128, 129, 160, 161, 192, 193, 224, 225, 256, 257, 384, 512, 513, 768, 769, 1000),
    )  # fmt: skip
    assert _count(SINGLE_GEMM, {"gpu_name": "g", "n": 8, "k": 8, "dtype": "bf16", "max_m": 32768}) == 40


@pytest.mark.parametrize(
    ("maximum", "values"), [(1, (1,)), (3, (1, 2, 3)), (1024, (1, 2, 1024)), (1025, (1, 2, 1025))]
)
def test_an_axis_ends_at_its_bound_without_a_near_twin(maximum: int, values: tuple[int, ...]) -> None:
    """The bound is measured, so that no query inside is extrapolated; 1024 beside 1025 tells nothing."""
    assert up_to(maximum, (1, 2, 1024)) == values


def test_keys_beyond_a_window_are_not_swept() -> None:
    """A windowed kernel costs the same beyond the window: points at the kink, behind it and at the end.

    Defect: with none behind it, the step at the window's end is smeared over all contexts (23 % off on H100).
    """
    assert within_window((1, 64, 128, 256, 512, 1024), 0) == (1, 64, 128, 256, 512, 1024)
    assert within_window((1, 64, 128, 256, 512, 1024), 200) == (1, 64, 128, 200, 400, 1024)
    assert within_window((1, 64, 128, 256, 512, 1024), 4096) == (1, 64, 128, 256, 512, 1024)


def test_a_fresh_prefill_is_always_on_the_grid() -> None:
    """Every first request has prefix 0: without the edge it would be extrapolated."""
    for window in (0, 128):
        config = PREFILL.config(**LLAMA_8B, window_size=window)
        assert PREFILL.sweep_grid(config)[2][0] == 0


@pytest.mark.parametrize(
    ("coords", "feasible"),
    [
        ((1, 1024, 1024), True),  # the rectangle of one longest request is whole
        ((4, 256, 0), True),  # an iteration's new tokens, exactly
        ((4, 257, 0), False),  # one more in each request
        ((4, 256, 256), True),  # as many in all as a longest request and an iteration of new ones
        ((4, 256, 257), False),
    ],
)
def test_prefill_mask_boundary(coords: tuple[float, ...], *, feasible: bool) -> None:
    """An off-by-one here profiles shapes that no scheduler builds, or leaves out the largest that it does."""
    config = PREFILL.config(**QWEN3_06B, max_num_tokens=1024, max_batch_size=16, max_kv_len=1024)
    assert PREFILL.feasible(config, coords) is feasible


@pytest.mark.parametrize(("coords", "feasible"), [((8, 128), True), ((8, 129), False), ((1, 1024), True)])
def test_decode_mask_boundary(coords: tuple[float, ...], *, feasible: bool) -> None:
    """Shapes whose keys no cache can hold would only exhaust the memory of the profiled device."""
    config = DECODE.config(**QWEN3_06B, max_batch_size=16, max_kv_len=1024, max_kv_tokens=1024)
    assert DECODE.feasible(config, coords) is feasible
