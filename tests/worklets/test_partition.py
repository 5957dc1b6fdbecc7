"""The tensor-parallel partition and the choice of rows: refusals carry the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.archs.stacks.vllm import STACK as VLLM
from servingsim.errors import ServingSimError
from servingsim.timing.source import DeviceSpec, MemorySource
from servingsim.worklets.partition import DecoderShape, kv_heads_per_rank, partition
from servingsim.worklets.routing import candidates, resolve_version

WHOLE = DecoderShape(4096, 32, 8, 128, 14336, 128256, False, "bf16", "bf16", "bf16")
DEVICE = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("tp", "heads", "kv_heads", "intermediate", "vocab"),
    [
        (1, 32, 8, 14336, 128256),
        (4, 8, 2, 3584, 32064),
        (8, 4, 1, 1792, 16032),
        (16, 2, 1, 896, 8016),
        (32, 1, 1, 448, 4008),
    ],
)
def test_one_rank_of_llama_8b(tp: int, heads: int, kv_heads: int, intermediate: int, vocab: int) -> None:
    assert partition(WHOLE, tp, VLLM) == replace(
        WHOLE,
        num_heads=heads,
        num_kv_heads=kv_heads,
        intermediate_size=intermediate,
        vocab_size=vocab,
        tp=tp,
    )


@pytest.mark.parametrize(
    ("change", "tp", "message"),
    [
        ({}, 3, "num_attention_heads 32 cannot be divided by tp 3"),
        ({"num_heads": 24, "num_kv_heads": 8}, 12, "8 KV heads can neither be divided over .* tp 12"),
        ({"num_heads": 48, "num_kv_heads": 12}, 8, "12 KV heads can neither .* tp 8"),
        ({"intermediate_size": 11007}, 2, "intermediate_size 11007 cannot be divided by tp 2"),
        ({}, 0, "tp 0"),
        ({}, -2, "tp -2"),
        ({}, 128, "tp 128"),
    ],
)
def test_what_does_not_divide_is_refused_with_the_numbers(
    change: dict[str, int], tp: int, message: str
) -> None:
    """Defect: integer division drops heads, and the prediction is of a smaller model."""
    with pytest.raises(ServingSimError, match=message):
        partition(DecoderShape(**{**vars(WHOLE), **change}), tp, VLLM)


def test_the_vocabulary_is_padded_as_the_stack_pads_it() -> None:
    odd = replace(WHOLE, vocab_size=32001)
    assert partition(odd, 1, VLLM).vocab_size == 32064
    assert partition(odd, 1, TRANSFORMERS).vocab_size == 32001


def test_a_stack_without_tensor_parallelism_says_so() -> None:
    with pytest.raises(ServingSimError, match="tp 2 with stack 'transformers'"):
        partition(WHOLE, 2, TRANSFORMERS)


@pytest.mark.parametrize(("kv_heads", "tp", "per_rank"), [(8, 2, 4), (8, 8, 1), (8, 16, 1), (1, 7, 1)])
def test_kv_heads(kv_heads: int, tp: int, per_rank: int) -> None:
    assert kv_heads_per_rank(kv_heads, tp) == per_rank


def _source(*backends: str) -> MemorySource:
    source = MemorySource({DEVICE: DeviceSpec(DEVICE, {}, 1e12, 1)})
    for backend in backends:
        source.add("single_gemm", DEVICE, backend, {"m": 1, "n": 1, "k": 1, "dtype": "bf16"}, 1.0)
    return source


def test_several_versions_need_a_choice() -> None:
    """Defect: two engine versions that differ by a third, mixed without a word."""
    source = _source("vllm-0.14.0:linear", "vllm-0.24.0:linear", "trtllm-1.0:gemm", "torch")
    with pytest.raises(ServingSimError, match="2 versions of vllm") as raised:
        resolve_version(VLLM, source, DEVICE, None)
    assert "0.14.0, 0.24.0" in raised.value.known
    assert resolve_version(VLLM, source, DEVICE, "0.14.0") == "0.14.0"
    with pytest.raises(ServingSimError, match=r"no rows of vllm 0\.9"):
        resolve_version(VLLM, source, DEVICE, "0.9")


def test_one_version_needs_none_and_none_is_none() -> None:
    assert resolve_version(VLLM, _source("vllm-0.24.0:linear"), DEVICE, None) == "0.24.0"
    assert resolve_version(VLLM, _source("torch"), DEVICE, None) == ""


@pytest.mark.parametrize(
    ("kind", "op", "present", "chosen"),
    [
        ("single_gemm", "", ("torch", "vllm-0.24.0:a", "vllm-0.14.0:a"), ("vllm-0.24.0:a",)),
        ("single_gemm", "", ("torch", "trtllm-1.0:a"), ("torch",)),
        ("all_reduce", "", ("nccl-2.29.2:NCCL", "vllm-0.24.0:x"), ("nccl-2.29.2:NCCL", "vllm-0.24.0:x")),
        ("rms_norm", "", (), ("flashinfer", "torch")),
    ],
)
def test_a_stacks_own_imported_kernels_go_first(
    kind: str, op: str, present: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    assert candidates(VLLM.route(kind, op), present, "vllm", "0.24.0") == chosen


def test_transformers_takes_its_own_rope_and_torchs_other_elementwise() -> None:
    assert TRANSFORMERS.route("elementwise", "rope").own == ("transformers",)
    assert TRANSFORMERS.route("elementwise", "add").own == ("torch",)
