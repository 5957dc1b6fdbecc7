"""How a checkpoint's weights and cache are quantised: `quantization_config`, or an `hf_quant_config.json` beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.contract import Dtype

FP8_BLOCK = [128, 128]
FULL_BYTE, HALF_BYTE = 8, 4
IGNORED = ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers", "llm_int8_skip_modules")
"""Names under which methods list the modules they leave alone."""
INTEGER_METHODS = ("gptq", "awq", "auto-round", "autoround", "intel/auto-round")
KNOWN = "fp8, fbgemm_fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt"


@dataclass(frozen=True)
class Quantisation:
    """Weights and cache of a checkpoint.

    Attributes:
        gemm_dtype: Of the quantised linear weights.
        words: The method, empty without one.
        unquantised: Modules that stay as they are.
        kv_dtype: Of the cache, None where nothing is said.
        stand_in: The stored format where `gemm_dtype` only stands for it, else empty.
    """

    gemm_dtype: Dtype
    words: str
    unquantised: tuple[str, ...] = ()
    kv_dtype: Dtype | None = None
    stand_in: str = ""


def quantisation(
    config: object, hf_quant: Mapping[str, Any] | None, *, dtype: Dtype, where: str
) -> Quantisation:
    """What the config says, and where it is silent what the file beside it says."""
    if config is not None and not isinstance(config, dict):
        raise ServingSimError(f"quantization_config: {shown(config)}", known="an object", path=where)
    if config:
        return _from_config(config, dtype, where)
    stated = (hf_quant or {}).get("quantization", hf_quant)
    if isinstance(stated, dict) and stated:
        return _modelopt(stated, dtype, where)
    return Quantisation(dtype, "")


def _from_config(config: Mapping[str, Any], dtype: Dtype, where: str) -> Quantisation:
    method, names = config.get("quant_method"), ignored(config)
    if method == "compressed-tensors":
        return _compressed(config, where)
    if method == "modelopt" or "quant_algo" in config:
        return _modelopt(config, dtype, where)
    if method in INTEGER_METHODS:
        return Quantisation(
            _integer(config.get("bits"), where), f"{method}, {config.get('bits')} bits", names
        )
    if method == "bitsandbytes":
        four = config.get("load_in_4bit") is True
        return Quantisation("int4" if four else "int8", f"bitsandbytes, {4 if four else 8} bits", names)
    plain: dict[object, tuple[Dtype, str]] = {"fbgemm_fp8": ("fp8", "fp8, rows"), "mxfp4": ("mxfp4", "mxfp4")}
    plain["fp8"] = _fp8(config, where)
    if not isinstance(method, str) or method not in plain:
        raise ServingSimError(f"quantization_config: quant_method {shown(method)}", known=KNOWN, path=where)
    return Quantisation(*plain[method], names)


def _fp8(config: Mapping[str, Any], where: str) -> tuple[Dtype, str]:
    block = config.get("weight_block_size")
    if block not in (None, FP8_BLOCK):
        raise ServingSimError(f"weight_block_size {shown(block)}", known="[128, 128]", path=where)
    return ("fp8_block", "fp8, blocks of 128 x 128") if block else ("fp8", "fp8")


def ignored(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that a method leaves alone."""
    found: list[Any] = next((config[name] for name in IGNORED if isinstance(config.get(name), list)), [])
    return tuple(str(each)[:200] for each in found)


def _integer(bits: object, where: str) -> Dtype:
    if bits == HALF_BYTE:
        return "int4"
    if bits == FULL_BYTE:
        return "int8"
    raise ServingSimError(f"quantization_config: {shown(bits)} bits", known="4 or 8", path=where)


def _compressed(config: Mapping[str, Any], where: str) -> Quantisation:
    groups = config.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        raise ServingSimError("quantization_config: config_groups without weights", known=KNOWN, path=where)
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    words = f"compressed-tensors, {shown(kind)} of {shown(bits)} bits, {shown(strategy)}"
    kv_dtype: Dtype | None = "fp8" if _eight_bit_cache(config.get("kv_cache_scheme")) else None
    if kind == "float" and bits == FULL_BYTE:
        return Quantisation("fp8_block" if strategy == "block" else "fp8", words, ignored(config), kv_dtype)
    if kind == "float" and bits == HALF_BYTE:
        stand_in = "" if weights.get("group_size") == 32 else "nvfp4"
        return Quantisation("mxfp4", words, ignored(config), kv_dtype, stand_in)
    return Quantisation(_integer(bits, where), words, ignored(config), kv_dtype)


def _eight_bit_cache(scheme: object) -> bool:
    return isinstance(scheme, dict) and scheme.get("num_bits") == FULL_BYTE and scheme.get("type") == "float"


def _modelopt(stated: Mapping[str, Any], dtype: Dtype, where: str) -> Quantisation:
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
        "NVFP4": ("mxfp4", "nvfp4"),
        "NVFP4_AWQ": ("mxfp4", "nvfp4"),
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
    gemm_dtype, stand_in = table[algorithm]
    return Quantisation(gemm_dtype, words, names, kv_dtype, stand_in)
