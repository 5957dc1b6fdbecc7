"""The formats of quantised weights: what compressed-tensors and ModelOpt state, and the integer methods' bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.contract import Dtype

FULL_BYTE, HALF_BYTE = 8, 4
FOUR_BITS: dict[object, Dtype] = {16: "nvfp4", 32: "mxfp4"}
"""By the elements that share a scale."""
IGNORED = ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers", "llm_int8_skip_modules")
"""Names under which methods list the modules they leave alone."""
MIXED = "weights of several formats: the first group's stands for all"


@dataclass(frozen=True)
class Quantisation:
    """Weights and cache of a checkpoint.

    Attributes:
        gemm_dtype: Of the quantised linear weights.
        words: The method, empty without one.
        unquantised: Modules that stay as they are.
        kv_dtype: Of the cache, None where nothing is said.
        caveat: In what `gemm_dtype` is not the whole truth, empty where it is.
    """

    gemm_dtype: Dtype
    words: str
    unquantised: tuple[str, ...] = ()
    kv_dtype: Dtype | None = None
    caveat: str = ""


def ignored(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that a method leaves alone."""
    found: list[Any] = next((config[name] for name in IGNORED if isinstance(config.get(name), list)), [])
    return tuple(str(each)[:200] for each in found)


def integer(bits: object, where: str) -> Dtype:
    """The dtype of whole-number weights of so many bits."""
    if bits == HALF_BYTE:
        return "int4"
    if bits == FULL_BYTE:
        return "int8"
    raise ServingSimError(f"quantization_config: {shown(bits)} bits", known="4 or 8", path=where)


def compressed(config: Mapping[str, Any], where: str) -> Quantisation:
    """What `compressed-tensors` states, by its first group of modules."""
    groups = config.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        raise ServingSimError(
            "quantization_config: config_groups without weights",
            known="config_groups, each with weights",
            path=where,
        )
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    mixed = MIXED if _differ(groups) else ""
    words = f"compressed-tensors, {shown(kind)} of {shown(bits)} bits, {shown(strategy)}"
    kv_dtype: Dtype | None = "fp8" if _eight_bit_cache(config.get("kv_cache_scheme")) else None
    if kind == "float" and bits == FULL_BYTE:
        return Quantisation(
            "fp8_block" if strategy == "block" else "fp8", words, ignored(config), kv_dtype, mixed
        )
    if kind == "float" and bits == HALF_BYTE:
        block = weights.get("group_size")
        other = (
            "" if block in FOUR_BITS else f"4-bit floats in blocks of {shown(block)}: mxfp4 stands for them"
        )
        gemm_dtype = FOUR_BITS.get(block, "mxfp4") if isinstance(block, int) else "mxfp4"
        return Quantisation(gemm_dtype, words, ignored(config), kv_dtype, mixed or other)
    return Quantisation(integer(bits, where), words, ignored(config), kv_dtype, mixed)


def _differ(groups: object) -> bool:
    """Whether groups of modules have weights of several formats."""
    if not isinstance(groups, dict):
        return False
    weights = [each.get("weights") for each in groups.values() if isinstance(each, dict)]
    return len({(shown(w.get("num_bits")), shown(w.get("type"))) for w in weights if isinstance(w, dict)}) > 1


def _eight_bit_cache(scheme: object) -> bool:
    return isinstance(scheme, dict) and scheme.get("num_bits") == FULL_BYTE and scheme.get("type") == "float"


def modelopt(stated: Mapping[str, Any], dtype: Dtype, where: str) -> Quantisation:
    """What ModelOpt states, in the config or in the file beside it."""
    algorithm = str(stated.get("quant_algo")).upper()
    kv_dtype: Dtype | None = "fp8" if str(stated.get("kv_cache_quant_algo")).upper() == "FP8" else None
    names, words = ignored(stated), f"modelopt {algorithm}"
    if algorithm in {"NONE", ""}:
        return Quantisation(dtype, "", (), kv_dtype)
    table: dict[str, tuple[Dtype, str]] = {
        "FP8": ("fp8", ""),
        "FP8_PER_CHANNEL_PER_TOKEN": ("fp8", ""),
        "FP8_PB_WO": ("fp8_block", ""),
        "FP8_BLOCK_SCALES": ("fp8_block", ""),
        "NVFP4": ("nvfp4", ""),
        "NVFP4_AWQ": ("nvfp4", ""),
        "W4A16_AWQ": ("int4", ""),
        "W4A8_AWQ": ("int4", ""),
        "INT4_AWQ": ("int4", ""),
        "W8A16": ("int8", ""),
        "W8A8_SQ_PER_CHANNEL": ("int8", ""),
        "MXFP4": ("mxfp4", ""),
        "W4A8_MXFP4_FP8": ("mxfp4", ""),
    }
    if algorithm not in table:
        raise ServingSimError(
            f"quant_algo {shown(stated.get('quant_algo'))}", known=", ".join(table), path=where
        )
    gemm_dtype, caveat = table[algorithm]
    return Quantisation(gemm_dtype, words, names, kv_dtype, caveat)
