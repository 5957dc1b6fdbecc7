"""The two sides of the kernel contract, compared: what the simulator asks for is what the profiler measures.

R.1 (hand-off), R.2 (payloads) and R.3 (dtype tags) of wiring a kernel, for every kind at once.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import profiling.kernels
import servingsim.timing.kernels
import servingsim.timing.work
from profiling import contract as profiler_contract
from profiling import registry as profiler
from servingsim.timing import contract as simulator_contract
from servingsim.timing.dtype_tags import dtype_tags
from servingsim.timing.registry import kernels

KINDS = sorted(kernels())
SMALL_CONFIGS: dict[str, dict[str, Any]] = {
    "single_gemm": {"n": 64, "k": 32, "dtype": "bf16", "max_m": 64},
    "grouped_gemm": {"num_groups": 4, "n": 64, "k": 32, "dtype": "bf16", "max_m": 64},
    "rms_norm": {"hidden_size": 64, "dtype": "fp16", "max_num_tokens": 64},
    "elementwise": {"op": "rope", "input_bytes_per_token": 64, "output_bytes_per_token": 64, "dtype": "fp32"},
    "attention_prefill": {"max_num_tokens": 256, "max_batch_size": 4, "max_kv_len": 512},
    "attention_decode": {"max_batch_size": 4, "max_kv_len": 512},
    "attention_mixed": {"max_num_tokens": 256, "max_batch_size": 4, "max_kv_len": 512},
    "all_reduce": {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 4096},
    "all_gather": {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 4096},
    "reduce_scatter": {"num_ranks": 4, "dtype": "bf16", "max_message_bytes": 4096},
    "p2p": {"dtype": "fp32", "max_message_bytes": 4096},
    "fused_moe": {"hidden_size": 64, "inter_size": 32, "topk": 2, "num_experts": 8, "moe_tp_size": 2,
                  "moe_ep_size": 4, "distribution": "power_law_1.2", "dtype": "bf16", "max_num_tokens": 64},
    "mla_prefill": {"max_num_tokens": 256, "max_batch_size": 4, "max_kv_len": 512},
    "mla_decode": {"max_batch_size": 4, "max_kv_len": 512},
    "gated_delta_prefill": {"num_k_heads": 2, "num_v_heads": 6, "k_head_dim": 64, "v_head_dim": 32,
                            "dtype": "bf16", "max_num_tokens": 256, "max_batch_size": 4},
    "gated_delta_decode": {"num_k_heads": 2, "num_v_heads": 6, "k_head_dim": 64, "v_head_dim": 32,
                           "dtype": "bf16", "max_batch_size": 4},
    "mamba2_prefill": {"num_heads": 8, "head_dim": 64, "state_size": 128, "num_groups": 2, "dtype": "bf16",
                       "max_num_tokens": 256, "max_batch_size": 4},
    "mamba2_decode": {"num_heads": 8, "head_dim": 64, "state_size": 128, "num_groups": 2, "dtype": "bf16",
                      "max_batch_size": 4},
    "topk_routing": {"num_experts": 8, "topk": 2, "dtype": "fp32", "max_num_tokens": 64},
    "moe_dispatch": {"hidden_size": 64, "topk": 2, "num_experts": 8, "num_ranks": 4, "dtype": "fp8",
                     "max_num_tokens": 64},
    "moe_combine": {"hidden_size": 64, "topk": 2, "num_experts": 8, "num_ranks": 4, "dtype": "bf16",
                    "max_num_tokens": 64},
}  # fmt: skip
LATENT = {
    "num_heads": 8,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "dtype": "bf16",
    "kv_dtype": "fp8",
}
HEADS = {
    "num_heads": 8,
    "num_kv_heads": 2,
    "head_dim": 64,
    "dtype": "bf16",
    "kv_dtype": "fp8",
    "window_size": 128,
}


def _config(name: str) -> Any:  # noqa: ANN401 - each kind has a Config of its own
    shared = HEADS if name.startswith("attention") else LATENT if name.startswith("mla") else {}
    fields = SMALL_CONFIGS[name] | shared
    return kernels()[name].config(gpu_name="a device", backends=("torch",), **fields)


def _stems(module: Any) -> list[str]:  # noqa: ANN401 - a module
    return sorted(path.stem for path in Path(module.__path__[0]).glob("[!_]*.py"))


def test_both_sides_have_the_same_kinds_in_files_of_their_name() -> None:
    """A kind on one side only is measured for nobody, or priced from no row."""
    assert list(profiler.kinds()) == KINDS == _stems(profiling.kernels) == _stems(servingsim.timing.kernels)
    assert set(KINDS) == set(_stems(servingsim.timing.work)) - {"amount"}


def test_both_sides_know_the_same_dtypes() -> None:
    """A dtype that only one side accepts fails late, in a measurement."""
    assert set(get_args(profiler_contract.Dtype)) == set(get_args(simulator_contract.Dtype))


@pytest.mark.parametrize("name", KINDS)
def test_payload_fields_are_the_profilers_args_in_its_order(name: str) -> None:
    """The args are the database key: a field too many or renamed finds no row; backend is routing, apart."""
    kind, measured = kernels()[name], profiler.kinds()[name]
    assert kind.kind == kind.table == measured.name
    for payload in kind.enumerate(_config(name)):
        assert tuple(payload) == (*measured.fields, "backend")
    assert kind.args == measured.fields
    assert set(kind.axes) <= set(measured.fields)
    assert "backend" not in measured.fields


@pytest.mark.parametrize("name", KINDS)
def test_the_profiler_accepts_every_payload_unchanged(name: str) -> None:
    """A grid point that the profiler refuses, or stores under other values, stays missing for ever."""
    kind, measured, config = kernels()[name], profiler.kinds()[name], _config(name)
    for coords in kind.feasible_coordinates(config):
        payload = kind.payload(config, coords)
        assert measured.args(**payload).model_dump() == payload


@pytest.mark.parametrize("name", KINDS)
def test_every_args_field_comes_from_the_config_or_an_axis(name: str) -> None:
    """R.1: a field without a source could only be a constant that somebody made up."""
    kind, config = kernels()[name], _config(name)
    fixed = kind.fixed(config)
    assert set(fixed) | set(kind.axes) == set(kind.args)
    assert not set(fixed) & set(kind.axes)
    assert fixed == {field: getattr(config, field) for field in fixed}, (
        "Config and args call it by the same name"
    )


@pytest.mark.parametrize("name", KINDS)
def test_dtype_tags_match_the_profilers_dtype_fields(name: str) -> None:
    """R.3: a wrong tag lets a backend run in a dtype that it does not support."""
    assert dtype_tags(kernels()[name]) == profiler.kinds()[name].dtype_fields


@pytest.mark.parametrize("name", KINDS)
def test_work_is_one_function_on_both_sides(name: str) -> None:
    """Two work models drift apart: rates in reports would not be those that the caches hold."""
    kind, measured, config = kernels()[name], profiler.kinds()[name], _config(name)
    assert measured.work.__module__ == f"servingsim.timing.work.{name}"
    coords = kind.feasible_coordinates(config)
    ours = kind.work(config, np.array(coords, dtype=np.float64))
    theirs = [measured.work(**kind.payload(config, point)) for point in coords]
    for amount in ("flops", "bytes_read", "bytes_written"):
        assert getattr(ours, amount) == pytest.approx([getattr(work, amount) for work in theirs], rel=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_the_profilers_smoke_spec_is_a_shape_that_the_simulator_can_ask_for(name: str) -> None:
    """R.1: a smoke spec that no Config and Input stand for proves nothing for the simulator."""
    kind, smoke = kernels()[name], profiler.kinds()[name].smoke
    config = kind.config(
        gpu_name="a device", **{field: smoke[field] for field in smoke if field not in kind.axes}
    )
    coords = tuple(float(smoke[axis]) for axis in kind.axes)
    assert kind.project(config, kind.invert(config, coords)) == coords
    assert kind.payload(config, coords) == smoke
    for value, axis in zip(coords, kind.sweep_grid(config), strict=True):
        assert axis[0] <= value <= axis[-1]


@pytest.mark.parametrize("name", KINDS)
def test_backends_run_only_dtypes_and_roles_that_the_kind_has(name: str) -> None:
    """A runner with KV dtypes for a kind without a cache, or none for one that has it, is wired wrongly."""
    has_kv = "kv" in dtype_tags(kernels()[name])
    for (kind, backend), runner in profiler.backends().items():
        if kind == name:
            assert bool(runner.kv_dtypes) == has_kv, backend
            assert runner.compute_dtypes, backend


def test_an_elementwise_operation_is_known_on_both_sides() -> None:
    """An op that the simulator prices and the profiler cannot launch is never measured."""
    ours = kernels()["elementwise"].config.model_fields["op"].annotation
    theirs = profiler.kinds()["elementwise"].args.model_fields["op"].annotation
    assert set(get_args(ours)) == set(get_args(theirs))


@pytest.mark.parametrize("name", KINDS)
def test_the_largest_shape_of_the_simulator_is_within_the_profilers_limits(name: str) -> None:
    """A Config that the simulator accepts must not have grid points that the profiler calls absurd."""
    kind, measured = kernels()[name], profiler.kinds()[name]
    schema = kind.config.model_json_schema()["properties"]
    bounds = {field: spec["maximum"] for field, spec in schema.items() if field.startswith("max_")}
    config = _config(name).model_copy(update=bounds)
    corners = itertools.product(*((axis[0], axis[-1]) for axis in kind.sweep_grid(config)))
    for coords in corners:
        # A corner of the cross product may be no launch at all: a prefix without a chunk.
        if kind.kind == "attention_mixed" and not kind.feasible(config, coords):
            continue
        measured.args(**kind.payload(config, coords))
