"""What a Config and an Input refuse: shapes that no model has, before anything is measured for them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from servingsim.errors import ServingSimError
from servingsim.timing.dtype_tags import dtype_tags
from servingsim.timing.registry import kernels
from servingsim.validation import parse

GEMM = {"gpu_name": "g", "n": 64, "k": 32, "dtype": "bf16"}
ATTENTION = {
    "gpu_name": "g",
    "num_heads": 32,
    "num_kv_heads": 8,
    "head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "bf16",
}
MOE = {"gpu_name": "g", "hidden_size": 64, "inter_size": 48, "topk": 2, "num_experts": 8, "dtype": "bf16"}

LATENT = {"gpu_name": "g", "num_heads": 16, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
          "v_head_dim": 128, "dtype": "bf16", "kv_dtype": "bf16"}  # fmt: skip
DELTA = {
    "gpu_name": "g",
    "num_k_heads": 16,
    "num_v_heads": 32,
    "k_head_dim": 128,
    "v_head_dim": 128,
    "dtype": "bf16",
}
SSM = {"gpu_name": "g", "num_heads": 64, "head_dim": 64, "state_size": 128, "num_groups": 8, "dtype": "bf16"}
EXCHANGE = {"gpu_name": "g", "hidden_size": 64, "topk": 2, "num_experts": 8, "num_ranks": 2, "dtype": "bf16"}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("single_gemm", GEMM | {"n": 0}, "n: 0"),
    ("single_gemm", GEMM | {"n": -4096}, "n: -4096"),
    ("single_gemm", GEMM | {"k": 10**12}, "k: 1000000000000: Input should be less than or equal to 16777216"),
    ("single_gemm", GEMM | {"n": 2**24, "k": 2**24}, "n 16777216 and k 16777216 make a weight"),
    ("single_gemm", GEMM | {"n": "64"}, 'n: "64"'),
    ("single_gemm", GEMM | {"n": True}, "n: true"),
    ("single_gemm", GEMM | {"n": 64.5}, "n: 64.5"),
    ("single_gemm", GEMM | {"n": float("nan")}, "n: NaN"),
    ("single_gemm", GEMM | {"dtype": "bfloat16"}, "dtype: \"bfloat16\": Input should be 'fp32', 'bf16'"),
    ("single_gemm", GEMM | {"gpu_name": ""}, 'gpu_name: ""'),
    ("single_gemm", GEMM | {"m": 5}, "m: no such field"),
    ("single_gemm", GEMM | {"max_m": 0}, "max_m: 0"),
    ("grouped_gemm", GEMM | {"num_groups": 4096, "n": 2**20, "k": 2**20}, "num_groups 4096"),
    ("rms_norm", {"gpu_name": "g", "hidden_size": 64}, "dtype: missing"),
    ("elementwise", {"gpu_name": "g", "op": "sofmax", "input_bytes_per_token": 2, "output_bytes_per_token": 2,
                     "dtype": "bf16"}, 'op: "sofmax"'),
    ("attention_prefill", ATTENTION | {"num_kv_heads": 5}, "num_heads 32 is no multiple of num_kv_heads 5"),
    ("attention_prefill", ATTENTION | {"num_heads": 4}, "num_heads 4 is no multiple of num_kv_heads 8"),
    ("attention_prefill", ATTENTION | {"window_size": -1}, "window_size: -1"),
    ("attention_decode", ATTENTION | {"num_kv_heads": 3}, "num_heads 32 is no multiple of num_kv_heads 3"),
    ("attention_decode", ATTENTION | {"max_kv_tokens": 1000}, "1000 is below max_kv_len 131072"),
    ("all_reduce", {"gpu_name": "g", "num_ranks": 1, "dtype": "bf16"}, "num_ranks: 1"),
    ("all_reduce", {"gpu_name": "g", "num_ranks": 2, "dtype": "bf16", "max_message_bytes": 9}, "9 bytes"),
    ("p2p", {"gpu_name": "g", "dtype": "fp32", "max_message_bytes": 6}, "message of 6 bytes"),
    ("fused_moe", MOE | {"topk": 9}, "topk 9 exceeds num_experts 8"),
    ("fused_moe", MOE | {"moe_ep_size": 3}, "num_experts 8 is no multiple of moe_ep_size 3"),
    ("fused_moe", MOE | {"moe_tp_size": 5}, "inter_size 48 is no multiple of moe_tp_size 5"),
    ("fused_moe", MOE | {"distribution": "Robert'); DROP"}, "distribution:"),
    ("mla_prefill", LATENT | {"kv_lora_rank": 0}, "kv_lora_rank: 0"),
    ("mla_prefill", LATENT | {"window_size": 128}, "window_size: no such field"),
    ("mla_decode", LATENT | {"max_kv_tokens": 1000}, "1000 is below max_kv_len 131072"),
    ("gated_delta_prefill", DELTA | {"num_v_heads": 24}, "num_v_heads 24 is no multiple of num_k_heads 16"),
    ("gated_delta_decode", DELTA | {"num_k_heads": 64}, "num_v_heads 32 is no multiple of num_k_heads 64"),
    ("mamba2_prefill", SSM | {"num_groups": 7}, "num_heads 64 is no multiple of num_groups 7"),
    ("mamba2_decode", SSM | {"state_size": 10**6}, "state_size: 1000000"),
    ("topk_routing", {"gpu_name": "g", "num_experts": 4, "topk": 5, "dtype": "fp32"}, "topk 5 exceeds num_experts 4"),
    ("moe_dispatch", EXCHANGE | {"num_ranks": 1}, "num_ranks: 1"),
    ("moe_dispatch", EXCHANGE | {"num_ranks": 3}, "num_experts 8 is no multiple of num_ranks 3"),
    ("moe_combine", EXCHANGE | {"topk": 9}, "topk 9 exceeds num_experts 8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "message"), REFUSED)
def test_a_config_that_no_model_has_is_refused_with_its_value(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ServingSimError, match=re.escape(message)) as refusal:
        parse(kernels()[name].config, fields, where=f"config of {name}")
    assert (refusal.value.code, refusal.value.path) == ("E_INPUT", f"config of {name}")


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("single_gemm", {"m": 0}, "m: 0"),
        ("single_gemm", {}, "m: missing"),
        ("attention_prefill", {"batch_size": 1, "q_len": 0}, "q_len: 0"),
        ("attention_prefill", {"batch_size": 1, "q_len": 1, "prefix_len": -1}, "prefix_len: -1"),
        ("attention_decode", {"batch_size": 8, "total_kv_len": 7}, "total_kv_len 7 is below batch_size 8"),
        ("attention_decode", {"batch_size": 8, "kv_len": 7}, "kv_len: no such field"),
        ("all_reduce", {"message_bytes": 2**50}, "message_bytes: 1125899906842624"),
        ("mla_decode", {"batch_size": 8, "total_kv_len": 7}, "total_kv_len 7 is below batch_size 8"),
        ("gated_delta_decode", {"batch_size": 0}, "batch_size: 0"),
    ],
)
def test_an_input_that_no_iteration_has_is_refused_with_its_value(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ServingSimError, match=re.escape(message)):
        parse(kernels()[name].input, fields, where="input")


def test_dtype_tags_name_the_fields_by_role() -> None:
    """A tag lost in a refactoring would let a backend run in a dtype that it does not support."""
    assert {name: dtype_tags(kind) for name, kind in kernels().items()} == {
        "all_gather": {"compute": "dtype"},
        "all_reduce": {"compute": "dtype"},
        "reduce_scatter": {"compute": "dtype"},
        "attention_decode": {"compute": "dtype", "kv": "kv_dtype"},
        "attention_mixed": {"compute": "dtype", "kv": "kv_dtype"},
        "attention_prefill": {"compute": "dtype", "kv": "kv_dtype"},
        "elementwise": {"compute": "dtype"},
        "fused_moe": {"compute": "dtype"},
        "gated_delta_decode": {"compute": "dtype"},
        "gated_delta_prefill": {"compute": "dtype"},
        "grouped_gemm": {"compute": "dtype"},
        "mamba2_decode": {"compute": "dtype"},
        "mamba2_prefill": {"compute": "dtype"},
        "mla_decode": {"compute": "dtype", "kv": "kv_dtype"},
        "mla_prefill": {"compute": "dtype", "kv": "kv_dtype"},
        "moe_combine": {"compute": "dtype"},
        "moe_dispatch": {"compute": "dtype"},
        "p2p": {"compute": "dtype"},
        "rms_norm": {"compute": "dtype"},
        "single_gemm": {"compute": "dtype"},
        "topk_routing": {"compute": "dtype"},
    }


def test_every_field_says_what_it_is() -> None:
    """The descriptions are the schema that agents read: a bare name there is a guess for them."""
    bare = [
        f"{name}.{field}"
        for name, kind in kernels().items()
        for model in (kind.config, kind.input)
        for field, info in model.model_fields.items()
        if not info.description
    ]
    assert bare == []
