"""A device's limits from the system file beside the tables; what that does not say, from the vendors' datasheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profiling.datasheet import datasheet_device
from profiling.device_row import DeviceRow
from profiling.importers.aiconfigurator.yaml_file import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profiling.importers.aiconfigurator.plan import Plan

ORIGIN = "aiconfigurator"
LARGEST_AMOUNT = 1e18
"""Far above any rate, bandwidth or size of a device; a database integer still holds it."""


def known_device(plan: Plan, name: str) -> DeviceRow | None:
    """A device of the plan's tables with its limits: of the system, for a folder of the datasheets, or None."""
    if not plan.system_spec:
        return datasheet_device(name)
    return system_device(name, plan.system_spec, plan.source, plan.system_spec_shown)


def system_device(name: str, spec: Mapping[str, Any], package: str, place: str) -> DeviceRow:
    """The device of a system.

    A dtype without a rate of its own gets that of the nearest wider one at least, so that a peak is never too low.
    GPUs of every vendor are of type `cuda`: the store tells CPUs and GPUs apart, no more.

    Args:
        name: Device key: the name in the tables.
        spec: The system file: rates in FLOP/s, bandwidths in bytes/s, sizes in bytes.
        package: What the file belongs to.
        place: Where in it the file lies, kept as the origin of the limits.
    """
    source = f"{package}: {place}"
    gpu, node = mapping(spec.get("gpu")), mapping(spec.get("node"))
    known = datasheet_device(name)
    return DeviceRow(
        name=name,
        type="cuda",
        memory_bytes=int(_amount(gpu, "mem_capacity")),
        peak_flops=_peaks(gpu, known),
        memory_bytes_per_s=_amount(gpu, "mem_bw"),
        link_bytes_per_s=_amount(node, "intra_node_bw"),
        last_level_cache_bytes=known.last_level_cache_bytes if known else 0,
        multiprocessors=known.multiprocessors if known else 0,
        limits_origin=f"{ORIGIN}: {place}",
        source=source if known is None else f"{source}; cache and multiprocessors: {known.source}",
    )


def _peaks(gpu: Mapping[str, Any], known: DeviceRow | None) -> dict[str, float]:
    bf16 = _amount(gpu, "bfloat16_tc_flops")
    int8 = _amount(gpu, "int8_tc_flops") or bf16
    fp8 = _amount(gpu, "fp8_tc_flops") or bf16
    four_bit = _amount(gpu, "fp4_tc_flops") or max(int8, fp8)
    fp32 = _amount(gpu, "float32_tc_flops") or (known.peak_flops.get("fp32", 0.0) if known else 0.0)
    rates = {
        "fp32": fp32,
        "bf16": bf16,
        "fp16": bf16,
        "fp8": fp8,
        "fp8_block": fp8,
        "int8": int8,
        "int4": max(int8, fp8),
        "mxfp4": four_bit,
        "nvfp4": four_bit,
    }
    return {dtype: rate for dtype, rate in rates.items() if rate > 0}


def _amount(facts: Mapping[str, Any], name: str) -> float:
    """A number of the file; 0, which stands for unknown, where it is absent or no amount."""
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST_AMOUNT:
        return 0.0
    return float(value)
