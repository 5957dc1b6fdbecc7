"""Inputs to coordinates and back, payloads, and work: what links a model's shapes to measured rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servingsim.timing.contract import KernelConfig, KernelInput, KernelKind
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_decode import AttentionDecodeInput
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL
from servingsim.timing.registry import kernels
from servingsim.timing.work.attention_decode import work as decode_work

if TYPE_CHECKING:
    from servingsim.timing.work.amount import Work

SHIPPED = sorted(kernels())
Kind = KernelKind[Any, Any]
DrawConfig = Callable[[st.DataObject, Kind], KernelConfig]
DrawInput = Callable[[st.DataObject, Kind], KernelInput]
HEADS: dict[str, Any] = {
    "num_heads": 32,
    "num_kv_heads": 8,
    "head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "fp8",
}
SILU_MUL = {"op": "silu_mul", "input_bytes_per_token": 64, "output_bytes_per_token": 32, "dtype": "bf16"}
LATENT: dict[str, Any] = {
    "num_heads": 16,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "fp8",
}
DELTA: dict[str, Any] = {
    "num_k_heads": 16,
    "num_v_heads": 32,
    "k_head_dim": 128,
    "v_head_dim": 128,
    "dtype": "bf16",
}
SSM: dict[str, Any] = {"num_heads": 64, "head_dim": 64, "state_size": 128, "num_groups": 8, "dtype": "bf16"}
EXCHANGE: dict[str, Any] = {
    "hidden_size": 4096,
    "topk": 8,
    "num_experts": 128,
    "num_ranks": 8,
    "dtype": "fp8",
}
PAYLOADS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "single_gemm": (
        {"n": 28672, "k": 4096, "dtype": "fp8", "max_m": 1},
        {"m": 1, "n": 28672, "k": 4096, "dtype": "fp8"},
    ),
    "grouped_gemm": (
        {"num_groups": 8, "n": 64, "k": 32, "dtype": "bf16", "max_m": 1},
        {"m": 1, "num_groups": 8, "n": 64, "k": 32, "dtype": "bf16"},
    ),
    "rms_norm": (
        {"hidden_size": 4096, "dtype": "fp16", "max_num_tokens": 1},
        {"num_tokens": 1, "hidden_size": 4096, "dtype": "fp16"},
    ),
    "elementwise": (
        SILU_MUL | {"max_num_tokens": 1},
        {"num_tokens": 1} | SILU_MUL,
    ),
    "attention_prefill": (
        HEADS | {"window_size": 64, "max_num_tokens": 1, "max_batch_size": 1, "max_kv_len": 1},
        {"batch_size": 1, "q_len": 1, "prefix_len": 0} | HEADS | {"window_size": 64},
    ),
    "attention_decode": (
        HEADS | {"max_batch_size": 1, "max_kv_len": 1},
        {"batch_size": 1, "kv_len": 1} | HEADS | {"window_size": 0},
    ),
    "attention_mixed": (
        HEADS | {"window_size": 64, "max_num_tokens": 1, "max_batch_size": 1, "max_kv_len": 1},
        {"q_len": 0, "prefix_len": 0, "num_decodes": 1, "kv_len": 1} | HEADS | {"window_size": 64},
    ),
    "all_reduce": (
        {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 512},
        {"num_ranks": 4, "message_bytes": 512, "dtype": "bf16"},
    ),
    "all_gather": (
        {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 512},
        {"num_ranks": 4, "message_bytes": 512, "dtype": "bf16"},
    ),
    "reduce_scatter": (
        {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 512},
        {"num_ranks": 4, "message_bytes": 512, "dtype": "bf16"},
    ),
    "p2p": ({"dtype": "fp32", "max_message_bytes": 512}, {"message_bytes": 512, "dtype": "fp32"}),
    "fused_moe": (
        {"hidden_size": 64, "inter_size": 32, "topk": 2, "num_experts": 8, "moe_ep_size": 2, "dtype": "bf16",
         "max_num_tokens": 1},
        {"num_tokens": 1, "hidden_size": 64, "inter_size": 32, "topk": 2, "num_experts": 8, "moe_tp_size": 1,
         "moe_ep_size": 2, "distribution": "balanced", "dtype": "bf16"},
    ),
    "mla_prefill": (
        LATENT | {"max_num_tokens": 1, "max_batch_size": 1, "max_kv_len": 1},
        {"batch_size": 1, "q_len": 1, "prefix_len": 0} | LATENT,
    ),
    "mla_decode": (LATENT | {"max_batch_size": 1, "max_kv_len": 1}, {"batch_size": 1, "kv_len": 1} | LATENT),
    "gated_delta_prefill": (
        DELTA | {"max_num_tokens": 1, "max_batch_size": 1},
        {"batch_size": 1, "q_len": 1} | DELTA,
    ),
    "gated_delta_decode": (DELTA | {"max_batch_size": 1}, {"batch_size": 1} | DELTA),
    "mamba2_prefill": (
        SSM | {"max_num_tokens": 1, "max_batch_size": 1},
        {"batch_size": 1, "q_len": 1} | SSM,
    ),
    "mamba2_decode": (SSM | {"max_batch_size": 1}, {"batch_size": 1} | SSM),
    "topk_routing": (
        {"num_experts": 128, "topk": 8, "dtype": "fp32", "max_num_tokens": 1},
        {"num_tokens": 1, "num_experts": 128, "topk": 8, "dtype": "fp32"},
    ),
    "moe_dispatch": (EXCHANGE | {"max_num_tokens": 1}, {"num_tokens": 1} | EXCHANGE),
    "moe_combine": (EXCHANGE | {"max_num_tokens": 1}, {"num_tokens": 1} | EXCHANGE),
}  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_every_grid_point_stands_for_an_input_that_projects_back_to_it(
    name: str, data: st.DataObject, draw_config: DrawConfig
) -> None:
    """A point that no Input reaches is wasted; one that another reaches answers for the wrong shape."""
    kind = kernels()[name]
    config = draw_config(data, kind)
    point = data.draw(st.sampled_from(kind.feasible_coordinates(config)))
    assert kind.project(config, kind.invert(config, point)) == point


@pytest.mark.parametrize("name", SHIPPED)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_every_input_survives_the_way_to_coordinates_and_back(
    name: str, data: st.DataObject, draw_config: DrawConfig, draw_input: DrawInput
) -> None:
    """Also where the mean falls between integers: the total must not be lost in the re-axis."""
    kind = kernels()[name]
    config, call = draw_config(data, kind), draw_input(data, kind)
    coords = kind.project(config, call)
    assert len(coords) == len(kind.axes)
    assert kind.invert(config, coords) == call


@pytest.mark.parametrize("name", SHIPPED)
def test_payloads_are_the_args_and_nothing_else(name: str) -> None:
    """A field too many, too few or in another place would write rows that no query finds."""
    kind = kernels()[name]
    fields, expected = PAYLOADS[name]
    config = kind.config(gpu_name="g", backends=("torch", "other"), **fields)
    emitted = list(kind.enumerate(config))
    assert emitted[:2] == [expected | {"backend": "torch"}, expected | {"backend": "other"}]
    assert list(emitted[0]) == [*kind.args, "backend"], "the profiler's order is the database key's"
    assert all(type(emitted[0][field]) is type(value) for field, value in expected.items()), "25.0 is not 25"


def test_grid_bounds_never_reach_a_payload() -> None:
    """`max_m` in the args would make each bound its own set of rows."""
    for name, kind in kernels().items():
        assert not [field for field in kind.args if field.startswith("max_")], name


@pytest.mark.parametrize("name", SHIPPED)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_work_of_many_points_is_the_work_of_each(
    name: str, data: st.DataObject, draw_config: DrawConfig
) -> None:
    """A column mixed up, or a scalar left over, would hand a whole grid the work of one point."""
    kind = kernels()[name]
    config = draw_config(data, kind)
    coords = np.array(kind.feasible_coordinates(config)[:20], dtype=np.float64)
    together = kind.work(config, coords)
    alone = [kind.work(config, point) for point in coords]
    for amount in ("flops", "bytes_read", "bytes_written"):
        assert np.shape(getattr(together, amount)) == (len(coords),)
        # Powers of an array may differ from powers of its numbers in the last digits.
        assert getattr(together, amount) == pytest.approx([getattr(work, amount) for work in alone], rel=1e-9)
        assert np.isfinite(getattr(together, amount)).all()
        assert (getattr(together, amount) >= 0).all()


def test_decode_is_asked_at_the_mean_length() -> None:
    """The documented re-axis: three requests with 1000 keys in all are a batch of three at 333.3 keys."""
    config = DECODE.config(gpu_name="g", **HEADS)
    coords = DECODE.project(config, AttentionDecodeInput(batch_size=3, total_kv_len=1000))
    assert coords == pytest.approx((3.0, 1000 / 3))
    lengths = (100, 300, 600)
    each = [decode_work(batch_size=1, kv_len=length, window_size=0, **HEADS) for length in lengths]
    mean = DECODE.work(config, np.array(coords))
    assert mean.flops == pytest.approx(sum(work.flops for work in each))
    assert mean.bytes_moved == pytest.approx(sum(work.bytes_moved for work in each))


def test_work_is_flat_beyond_a_window() -> None:
    """The reason that keys beyond it are not swept; without the window the same points differ."""
    for kind, near, far in (
        (DECODE, [4.0, 128.0], [4.0, 4096.0]),
        (PREFILL, [4.0, 16.0, 128.0], [4.0, 16.0, 4096.0]),
    ):
        windowed, whole = (_work_at(kind, size, near) == _work_at(kind, size, far) for size in (128, 0))
        assert windowed
        assert not whole


def _work_at(kind: Kind, window_size: int, coords: list[float]) -> Work:
    return kind.work(kind.config(gpu_name="g", **HEADS, window_size=window_size), np.array(coords))
