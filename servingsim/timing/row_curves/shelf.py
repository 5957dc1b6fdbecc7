"""Which curve a device is read with: one of its kind of matrix unit that none of its own rows helped to fit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.row_curves.geometry import Measured, Product, describe
from servingsim.timing.row_curves.trees import Trees

if TYPE_CHECKING:
    from servingsim.timing.source import DeviceSpec, FloatArray

UNITS = (("warp", 4e12), ("warpgroup", 1.1e13), ("tensor_memory", float("inf")))
"""Kinds of matrix unit by the most FLOP/s in 16 bits that a multiprocessor has of them: instructions of a warp (NVIDIA
Ampere, Ada, RTX Blackwell), of a group of warps (Hopper), on tensor memory (data-centre Blackwell)."""
SETS = ("a", "b")
WIDEST_BYTES = 2.0
BITS = {2.0: "16", 1.0: "8"}
"""Operands that curves were fitted for, by their bytes."""
MOST = 0.5
"""A curve lies no further than this from the straight line, in log time: more was never learnt."""


@dataclass(frozen=True)
class RowCurve:
    """How time runs between measured sizes.

    Attributes:
        devices: That it was fitted on.
        fitted_on: Their tables.
        bend: Distance of log time from the straight line.
        spread: Logarithm of the typical distance that is left.
        widen: Factor on it within which 90 % of what is left lies.
    """

    devices: tuple[str, ...]
    fitted_on: tuple[str, ...]
    bend: Trees
    spread: Trees
    widen: float

    def log_ms(self, at: FloatArray, measured: Measured, product: Product) -> tuple[FloatArray, FloatArray]:
        """Log times and relative half widths of their 90 % intervals at sizes between measured ones, [N] each."""
        features = describe(at, measured, product)
        bend = np.clip(self.bend.sum(features), -MOST, MOST)
        return measured.straight(at) + bend, self.widen * np.exp(self.spread.sum(features))


def row_curve_for(device: DeviceSpec, width_bytes: float) -> RowCurve | None:
    """The curve of a device for operands of a width.

    None where none was fitted: other widths, no GPU, or a GPU whose multiprocessors or peaks nobody knows.
    """
    bits, peak = BITS.get(width_bytes), _peak(device)
    if bits is None or device.multiprocessors <= 0 or peak <= 0 or device.memory_bytes_per_s <= 0:
        return None
    unit = next(name for name, most in UNITS if peak / device.multiprocessors < most)
    curves = (_read(f"{unit}_{each}_{bits}") for each in SETS)
    return next((curve for curve in curves if curve and device.name not in curve.devices), None)


def product_on(device: DeviceSpec, n: float, k: float, width_bytes: float) -> Product:
    """A weight on a device that `row_curve_for` has a curve for: narrower operands run as much faster at the peak."""
    return Product(
        n=n,
        k=k,
        width_bytes=width_bytes,
        multiprocessors=device.multiprocessors,
        flops_per_s=_peak(device) * WIDEST_BYTES / width_bytes,
        bytes_per_s=device.memory_bytes_per_s,
    )


def _peak(device: DeviceSpec) -> float:
    """FLOP/s in 16 bits, 0 where unknown."""
    return float(device.peak_flops.get("bf16") or device.peak_flops.get("fp16") or 0.0)


@cache
def _read(name: str) -> RowCurve | None:
    """A fitted file; None where no table of such devices and operands was there to fit."""
    file = files(__package__).joinpath(f"{name}.json")
    if not file.is_file():
        return None
    data = json.loads(file.read_text())
    return RowCurve(
        devices=tuple(data["devices"]),
        fitted_on=tuple(data["fitted_on"]),
        bend=Trees.read(data["bend"]),
        spread=Trees.read(data["spread"]),
        widen=float(data["widen"]),
    )
