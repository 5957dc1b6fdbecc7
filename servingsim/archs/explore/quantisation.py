"""How a checkpoint's weights and cache are quantised: `quantization_config`, or an `hf_quant_config.json` beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.quantised_formats import Quantisation, compressed, ignored, integer, modelopt
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.contract import Dtype

FP8_BLOCK = [128, 128]
INTEGER_METHODS = ("gptq", "awq", "auto-round", "autoround", "intel/auto-round")
KNOWN = "fp8, fbgemm_fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt"


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
        return modelopt(stated, dtype, where)
    return Quantisation(dtype, "")


def _from_config(config: Mapping[str, Any], dtype: Dtype, where: str) -> Quantisation:
    method, names = config.get("quant_method"), ignored(config)
    if method == "compressed-tensors":
        return compressed(config, where)
    if method == "modelopt" or "quant_algo" in config:
        return modelopt(config, dtype, where)
    if method in INTEGER_METHODS:
        return Quantisation(integer(config.get("bits"), where), f"{method}, {config.get('bits')} bits", names)
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
