"""Physical limits of common GPUs from their vendors' datasheets (`datasheet.json`), by the driver's name."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from profiling.device_row import DeviceRow

if TYPE_CHECKING:
    from collections.abc import Mapping


def datasheet_device(name: str) -> DeviceRow | None:
    """The device of that true name, None where the data file has no such GPU."""
    facts = _devices().get(name)
    if facts is None:
        return None
    return DeviceRow(
        name=name,
        type="cuda",
        memory_bytes=facts["memory_gib"] * 2**30,
        peak_flops=_peak_flops(facts["tflops"]),
        memory_bytes_per_s=facts["memory_gb_per_s"] * 1e9,
        link_bytes_per_s=facts["link_gb_per_s"] * 1e9,
        last_level_cache_bytes=facts["l2_mib"] * 2**20,
        multiprocessors=facts["multiprocessors"],
        limits_origin="datasheet",
        source="vendor datasheet",
    )


def _devices() -> Mapping[str, Any]:
    text = (files("profiling") / "datasheet.json").read_text(encoding="utf-8")
    devices: Mapping[str, Any] = json.loads(text)["devices"]
    return devices


def _peak_flops(tflops: Mapping[str, float]) -> dict[str, float]:
    """FLOP/s per dtype name; a dtype without a rate of its own runs at the nearest wider one's at most."""
    bf16 = tflops["bf16"]
    fp8 = tflops.get("fp8", bf16)
    four_bit = tflops.get("int4", max(fp8, tflops.get("int8", fp8)))
    rates = {
        "fp32": tflops["fp32"],
        "bf16": bf16,
        "fp16": tflops.get("fp16", bf16),
        "fp8": fp8,
        "fp8_block": fp8,
        "int8": tflops.get("int8", bf16),
        "int4": four_bit,
        "mxfp4": tflops.get("mxfp4", fp8),
        "nvfp4": tflops.get("mxfp4", fp8),
    }
    return {dtype: rate * 1e12 for dtype, rate in rates.items()}
