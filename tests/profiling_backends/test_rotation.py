"""Operands rotate through more memory than the cache, and never through more than there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.backends import rotation
from profiling.contract import Setting
from profiling.registry import backends
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable

    Prepare = Callable[..., Any]


def _setting(cache_bytes: int, free_bytes: int) -> Setting:
    return Setting("cpu", 1, cache_bytes, free_bytes)


@given(
    operand_bytes=st.integers(1, 2**34),
    result_bytes=st.integers(0, 2**34),
    cache_bytes=st.integers(0, 2**28),
    free_bytes=st.integers(1, 2**36),
)
def test_copies_displace_the_cache_or_fill_what_they_may(
    operand_bytes: int, result_bytes: int, cache_bytes: int, free_bytes: int
) -> None:
    """Too few copies leave operands warm, too many exhaust the machine."""
    setting = _setting(cache_bytes, free_bytes)
    if operand_bytes + result_bytes > free_bytes:
        with pytest.raises(ServingSimError) as refused:
            rotation.copies(setting, operand_bytes=operand_bytes, result_bytes=result_bytes)
        assert refused.value.code == "E_LIMIT"
        return
    count = rotation.copies(setting, operand_bytes=operand_bytes, result_bytes=result_bytes)
    more_bytes = (count + 1) * operand_bytes
    cold = count >= 3 and count * operand_bytes > 2 * (cache_bytes or rotation.ASSUMED_CACHE_BYTES)
    at_limit = count == rotation.MAX_COPIES or more_bytes > min(
        rotation.MAX_ROTATED_BYTES, (free_bytes - result_bytes) / 2
    )
    assert cold or at_limit
    assert count == 1 or count * operand_bytes <= rotation.MAX_ROTATED_BYTES
    assert count * operand_bytes + result_bytes <= free_bytes


def test_a_launch_rotates_through_twice_the_cache(prepare: Prepare, small_cpu: Setting) -> None:
    """With fewer copies a decode step of warm weights comes out at half its time."""
    launch = prepare("single_gemm", m=1, n=128, k=128, dtype="bf16")
    weights = [call.args[1] for call in launch.calls]
    assert len({weight.data_ptr() for weight in weights}) == len(weights)
    rotated_bytes = sum(weight.numel() * weight.element_size() for weight in weights)
    assert rotated_bytes > 2 * 0.99 * small_cpu.last_level_cache_bytes
    addresses = [weight.data_ptr() for weight in weights]
    assert addresses != sorted(addresses), "in order, a prefetcher walks from one copy into the next"


HUGE_LATENT: dict[str, int | str] = {
    "num_heads": 128,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "bf16",
}
HUGE_DELTA: dict[str, int | str] = {
    "num_k_heads": 16,
    "num_v_heads": 32,
    "k_head_dim": 128,
    "v_head_dim": 128,
    "dtype": "bf16",
}
HUGE_SSM: dict[str, int | str] = {
    "num_heads": 128,
    "head_dim": 64,
    "state_size": 128,
    "num_groups": 8,
    "dtype": "bf16",
}
HUGE_EXCHANGE: dict[str, int | str] = {
    "num_tokens": 2**30,
    "hidden_size": 2**14,
    "topk": 8,
    "num_experts": 64,
    "num_ranks": 2,
    "dtype": "bf16",
}
HUGE: dict[str, dict[str, int | str]] = {
    "single_gemm": {"m": 2**31 - 1, "n": 2**24, "k": 2**24, "dtype": "fp32"},
    "grouped_gemm": {"m": 2**20, "num_groups": 2**16, "n": 2**24, "k": 2**24, "dtype": "bf16"},
    "rms_norm": {"num_tokens": 2**31 - 1, "hidden_size": 2**24, "dtype": "bf16"},
    "elementwise": {
        "num_tokens": 2**31 - 1,
        "op": "rope",
        "input_bytes_per_token": 2**30,
        "output_bytes_per_token": 2**30,
        "dtype": "bf16",
    },
    "attention_prefill": {
        "batch_size": 1,
        "q_len": 2**20,
        "prefix_len": 2**20,
        "num_heads": 1,
        "num_kv_heads": 1,
        "head_dim": 64,
        "dtype": "bf16",
        "kv_dtype": "bf16",
        "window_size": 0,
    },
    "attention_decode": {
        "batch_size": 2**20,
        "kv_len": 2**20,
        "num_heads": 8,
        "num_kv_heads": 8,
        "head_dim": 64,
        "dtype": "bf16",
        "kv_dtype": "bf16",
        "window_size": 0,
    },
    "fused_moe": {
        "num_tokens": 2**20,
        "hidden_size": 2**20,
        "inter_size": 2**20,
        "topk": 8,
        "num_experts": 2**16,
        "moe_tp_size": 1,
        "moe_ep_size": 1,
        "distribution": "uniform",
        "dtype": "bf16",
    },
    "mla_prefill": {"batch_size": 1, "q_len": 2**20, "prefix_len": 2**20, **HUGE_LATENT},
    "mla_decode": {"batch_size": 2**20, "kv_len": 2**20, **HUGE_LATENT},
    "gated_delta_prefill": {"batch_size": 2**10, "q_len": 2**20, **HUGE_DELTA},
    "gated_delta_decode": {"batch_size": 2**20, **HUGE_DELTA},
    "mamba2_prefill": {"batch_size": 2**10, "q_len": 2**20, **HUGE_SSM},
    "mamba2_decode": {"batch_size": 2**20, **HUGE_SSM},
    "topk_routing": {"num_tokens": 2**31 - 1, "num_experts": 2**16, "topk": 8, "dtype": "bf16"},
    "moe_dispatch": HUGE_EXCHANGE,
    "moe_combine": HUGE_EXCHANGE,
    "all_reduce": {"num_ranks": 2, "message_bytes": 2**44, "dtype": "fp32"},
    "all_gather": {"num_ranks": 2, "message_bytes": 2**43, "dtype": "fp32"},
    "reduce_scatter": {"num_ranks": 2, "message_bytes": 2**43, "dtype": "fp32"},
    "p2p": {"message_bytes": 2**44, "dtype": "fp32"},
}
LARGER: dict[tuple[str, str], dict[str, Any]] = {("attention_prefill", "vllm_cpu"): {"batch_size": 256}}
"""Of a backend that needs no mask."""


@pytest.mark.parametrize(
    ("kind", "backend"), [key for key, runner in backends().items() if "cpu" in runner.devices]
)
def test_what_does_not_fit_is_refused_before_anything_is_allocated(kind: str, backend: str) -> None:
    """An allocation that fails takes the worker with it, or on Linux some other process of the machine."""
    runner = backends()[kind, backend]
    with pytest.raises(ServingSimError, match="of memory for its operands") as refused:
        runner.prepare(_setting(2**25, 2**34), **(HUGE[kind] | LARGER.get((kind, backend), {})))
    assert refused.value.code == "E_LIMIT"
    assert "16 GiB are free" in refused.value.known
