"""Which shapes are probed, seen through a real kind over rows of a device that is not here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from servingsim.timing.contract import Reaxis
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_decode import AttentionDecodeConfig, AttentionDecodeInput
from servingsim.timing.kernels.rms_norm import KERNEL as NORM
from servingsim.timing.source import DeviceSpec, MemorySource
from skills.validate_cache.probing import choose, given

if TYPE_CHECKING:
    from servingsim.timing.contract import Coords, KernelKind

HEADS: dict[str, Any] = {
    "num_heads": 8,
    "num_kv_heads": 2,
    "head_dim": 64,
    "dtype": "bf16",
    "kv_dtype": "bf16",
}
NORMS: dict[str, Any] = {"hidden_size": 64, "dtype": "bf16", "max_num_tokens": 256}
DOMAIN = {"max_batch_size": 32, "max_kv_len": 2048, "max_kv_tokens": 16384}


def kernel(kind: KernelKind[Any, Any], **config: Any) -> Kernel:  # noqa: ANN401 - fields of a Config
    """A kernel whose whole grid has rows."""
    source = MemorySource({"dev": DeviceSpec("dev", {"bf16": 1e14}, 1e12, 2**36)})
    resolved = kind.config(gpu_name="dev", **config)
    for point in kind.feasible_coordinates(resolved):
        source.add(kind.table, "dev", "b", kind.payload(resolved, point), 0.01 + 1e-6 * float(np.prod(point)))
    return Kernel.build(kind.kind, kind, resolved, source)


def regions(probes: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for probe in probes:
        found[probe["region"]] = found.get(probe["region"], 0) + 1
    return found


def test_a_grid_is_probed_inside_its_cells_and_past_both_ends() -> None:
    """Defect: only shapes that were fitted, or a side that is silently left out."""
    chosen = choose(kernel(NORM, **NORMS), most=16, seed=0, quantised=False)
    assert set(regions(chosen.probes)) == {"above_num_tokens", "on_grid", "interior"}
    assert len(chosen.probes) == 16
    assert "Input refuses it" in chosen.unreachable["below_num_tokens"]
    values = {probe["region"]: probe["args"]["num_tokens"] for probe in chosen.probes}
    assert values["above_num_tokens"] > 256


def test_below_the_minimum_is_probed_where_shapes_exist() -> None:
    """Defect: a grid that starts at 16 is never asked for 8."""
    kind = replace(NORM, sweep_grid=lambda _config: ((16, 64, 256),))
    chosen = choose(kernel(kind, **NORMS), most=12, seed=0, quantised=False)
    below = {p["args"]["num_tokens"] for p in chosen.probes if p["region"] == "below_num_tokens"}
    assert below == {12, 8}
    assert not chosen.unreachable


def test_buckets_are_probed_at_their_boundaries() -> None:
    """Defect: only middles of buckets, where the error of the next size up is half of what it is at the boundary."""
    chosen = choose(kernel(replace(NORM, cache="direct_1d"), **NORMS), most=24, seed=0, quantised=True)
    grid = {1, 4, 16, 32, 64, 128, 256}
    found = {p["args"]["num_tokens"] for p in chosen.probes if p["region"] == "bucket_boundary"}
    assert found
    assert all({value - 1, value + 1} & grid for value in found)


def test_a_re_axed_kernel_is_probed_at_inputs_that_fall_between_whole_args() -> None:
    """Defect: only points of the grid's own axes, where project and invert cannot be wrong."""
    chosen = choose(kernel(DECODE, **HEADS, **DOMAIN), most=40, seed=1, quantised=False)
    found = [probe for probe in chosen.probes if probe["region"] == "reaxis"]
    assert found
    for probe in found:
        batch_size, kv_len = probe["coordinates"]
        assert kv_len == probe["input"]["total_kv_len"] / batch_size
        assert probe["args"]["kv_len"] == round(kv_len)
    assert any(not float(probe["coordinates"][1]).is_integer() for probe in found)


def test_both_sides_of_every_axis_of_a_masked_grid_are_probed_or_explained() -> None:
    """Defect: the second axis is forgotten, or a masked shape is measured."""
    built = kernel(DECODE, **HEADS, **DOMAIN)
    resolved = AttentionDecodeConfig(gpu_name="dev", **HEADS, **DOMAIN)
    chosen = choose(built, most=40, seed=0, quantised=False)
    sides = {f"{side}_{axis}" for axis in DECODE.axes for side in ("below", "above")}
    assert sides <= set(regions(chosen.probes)) | set(chosen.unreachable)
    for probe in chosen.probes:
        point = (probe["args"]["batch_size"], probe["args"]["kv_len"])
        assert DECODE.feasible(resolved, point)


def _doubled(_config: AttentionDecodeConfig, at: Coords) -> AttentionDecodeInput:
    """The Input of a batch that has twice the keys."""
    return AttentionDecodeInput(batch_size=round(at[0]), total_kv_len=2 * round(at[0] * at[1]))


def test_a_wrong_inverse_shows_as_a_failure_of_the_re_axis() -> None:
    """Defect: the cache is asked for another shape than was measured, and it is called interpolation."""
    assert DECODE.reaxis is not None
    broken = replace(DECODE, reaxis=Reaxis(DECODE.reaxis.project, _doubled))
    chosen = choose(kernel(broken, **HEADS, **DOMAIN), most=24, seed=0, quantised=False)
    assert "interior" not in regions(chosen.probes)


def test_named_shapes_are_put_in_the_region_that_they_lie_in() -> None:
    """Defect: an extrapolated shape judged as interior because a caller named it."""
    built = kernel(NORM, **NORMS)
    chosen = given(built, [{"num_tokens": at} for at in (4, 5, 300)])
    assert [probe["region"] for probe in chosen.probes] == ["on_grid", "interior", "above_num_tokens"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_seed_gives_the_same_probes(seed: int) -> None:
    """Defect: a recheck that plans other probes than the report has."""
    built = kernel(DECODE, **HEADS, **DOMAIN)
    first, second = (choose(built, most=24, seed=seed, quantised=False).probes for _ in range(2))
    assert first == second
