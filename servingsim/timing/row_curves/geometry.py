"""What is known about a size between two measured ones: the tiles it fills, and the measured curve around it.

A GEMM library cuts the result into tiles and hands them to the multiprocessors in waves: a row above a multiple of the
tile's height may cost a whole wave. Which tile the library takes is its own affair, so every common one is described.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

TILES = tuple((height, width) for height in (64, 128, 256) for width in (64, 128, 256))
"""Rows and columns of the result that one multiprocessor computes at once, as libraries offer them."""
HEIGHTS = (16, 32, 64, 128, 256)
"""Heights whose last, partly filled tile is described."""
FEWEST = 4
"""Measured sizes without which there is no curve to describe."""
MANY_WAVES = 20.0
"""Tiles for each multiprocessor beyond which one more does not show."""
AROUND = 2
"""Measured sizes on each side that a level is taken over."""


@dataclass(frozen=True)
class Product:
    """A weight on a device.

    Attributes:
        n: Output features.
        k: Input features.
        width_bytes: Bytes of an operand's element.
        multiprocessors: Of the device.
        flops_per_s: Its peak for the operands' dtype.
        bytes_per_s: Its memory bandwidth.
    """

    n: float
    k: float
    width_bytes: float
    multiprocessors: int
    flops_per_s: float
    bytes_per_s: float

    def compute_ms(self, m: FloatArray) -> FloatArray:
        """FLOPs at the peak."""
        return 2e3 * m * self.n * self.k / self.flops_per_s

    def traffic_ms(self, m: FloatArray) -> FloatArray:
        """Operands and result at the bandwidth."""
        operands = (m * self.k + self.n * self.k) * self.width_bytes
        return 1e3 * (operands + m * self.n * max(self.width_bytes, 2.0)) / self.bytes_per_s


@dataclass(frozen=True)
class Measured:
    """The measured curve: `m` ascending, at least FEWEST sizes, and the logarithm of their times."""

    m: FloatArray
    log_ms: FloatArray

    def straight(self, at: FloatArray) -> FloatArray:
        """Log time on straight lines between the sizes, on logarithmic axes."""
        return np.interp(np.log(at), np.log(self.m), self.log_ms)

    def slopes(self) -> FloatArray:
        """Of the lines."""
        return np.diff(self.log_ms) / np.diff(np.log(self.m))

    def oddness(self) -> FloatArray:
        """How far every size lies above its neighbours' line; 0 at the ends."""
        log_m, odd = np.log(self.m), np.zeros(len(self.m))
        weight = (log_m[1:-1] - log_m[:-2]) / (log_m[2:] - log_m[:-2])
        odd[1:-1] = self.log_ms[1:-1] - (1 - weight) * self.log_ms[:-2] - weight * self.log_ms[2:]
        return odd

    def levels(self) -> FloatArray:
        """Median of every size and the AROUND nearest on each side."""
        last = len(self.m)
        windows = (self.log_ms[max(at - AROUND, 0) : at + AROUND + 1] for at in range(last))
        return np.array([np.median(window) for window in windows])


def describe(at: FloatArray, measured: Measured, product: Product) -> FloatArray:
    """Features [N, features] of sizes between the first and the last measured one, none of them measured."""
    upper = np.searchsorted(measured.m, at)
    return np.column_stack(
        [
            *_place(at, upper, measured),
            *_curve(at, upper, measured),
            *_product(at, measured, product),
            *_tiles(at, upper, measured, product),
        ]
    )


def _place(at: FloatArray, upper: np.ndarray, measured: Measured) -> list[FloatArray]:
    low, high = measured.m[upper - 1], measured.m[upper]
    span = np.log(high / low)
    partial = [np.log(np.ceil(at / height) * height / at) for height in HEIGHTS]
    return [np.log(at), np.log(at / low) / span, span, np.log(at / low), at - low, high - at, *partial]


def _curve(at: FloatArray, upper: np.ndarray, measured: Measured) -> list[FloatArray]:
    """Slopes, odd points and levels around, relative to the straight answer."""
    base, slopes, last = measured.straight(at), measured.slopes(), len(measured.m) - 1
    odd, level, lower = measured.oddness(), measured.levels(), upper - 1
    near = (lower - 1, upper + 1, lower - 2, upper + 2)
    return [
        slopes[lower],
        slopes[np.maximum(lower - 1, 0)],
        slopes[np.minimum(upper, last - 1)],
        odd[lower],
        odd[upper],
        level[lower] - base,
        level[upper] - base,
        *(measured.log_ms[np.clip(each, 0, last)] - base for each in near),
    ]


def _product(at: FloatArray, measured: Measured, product: Product) -> list[FloatArray]:
    compute_ms, traffic_ms = product.compute_ms(at), product.traffic_ms(at)
    slowdown = measured.straight(at) - np.log(np.maximum(compute_ms, traffic_ms))
    fixed = (np.log(product.n), np.log(product.k), product.width_bytes, float(product.multiprocessors))
    return [slowdown, np.log(compute_ms / traffic_ms), *(np.full(len(at), each) for each in fixed)]


def _tiles(at: FloatArray, upper: np.ndarray, measured: Measured, product: Product) -> list[FloatArray]:
    """For each tile: waves beyond the straight line between the ends' waves, tiles a multiprocessor, the last wave."""
    low, high = measured.m[upper - 1], measured.m[upper]
    weight = np.log(at / low) / np.log(high / low)
    found = []
    for height, width in TILES:
        columns = np.ceil(product.n / width) / product.multiprocessors
        here, below, above = (np.ceil(m / height) * columns for m in (at, low, high))
        straight = (1 - weight) * np.log(np.ceil(below)) + weight * np.log(np.ceil(above))
        found += [np.log(np.ceil(here)) - straight, np.minimum(here, MANY_WAVES), here / np.ceil(here)]
    return found
