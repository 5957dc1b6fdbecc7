"""Fidelity of the GEMM cache on measured H100 rows that it has not seen (vLLM 0.24.0, bf16, 483 shapes (n, k)).

- **m held out**: each shape's cache is built from the 16 powers of two of m and asked at the other 58 values, 28,014
  points. Beside it the baseline, log-log linear through the same points.
- **m on a grid**: the same with the 22 values of m that the kernel's own sweep grid shares with the data.
- **shapes held out**: every shape in turn loses all its rows and is interpolated from its neighbours, 74 values of m;
  and harder, every other n and every other k at once.

Each split of m twice: with the rows of vLLM alone, and with those of TensorRT-LLM and SGLang beside them, as a store
has them that holds all three.

No constant of the cache was chosen on these rows. The curve between sizes is fitted on H200 (`benchmarks.row_curves`;
H200 itself is read with one of H100), the strength by which other backends are followed was chosen on H200, our grid
on H200, H100 / TensorRT-LLM, B200 and A100. Without a curve (`gemm_tiles` says when) three plain rules hold. TILE_ROWS
is an instruction's height. PULL was compared on bf16 rows of H200 / vLLM 0.24.0, H100 / TensorRT-LLM 1.3.0rc20, B200 /
vLLM 0.24.0 and A100 / vLLM 0.14.0: mean MAPE 5.80 % without it, 5.64 at 0.2, 5.55 at 0.4, 5.51 at 0.6. MIN_SPACING was
chosen on the first three with 22 values of m: 1.2 is 0.15 to 0.25 points better than 1.6.

How much is left: with every other size of a shape known, a smooth reading (log-log lines through the two sizes on each
side, averaged) misses the asked sizes by 4.4 % (those between powers of two) and 3.5 % (those beside our grid): the
library picks a kernel for each size, and no smooth curve shows which (`from_all_others`). Up to 16 rows, where the time
is flat, the median of all other sizes there misses one size of these rows by 2.1 to 2.5 % (H100 / TensorRT-LLM: 0.8 to
1.1 %), and by 3.1 % for weights above 30 M elements, which one kernel or another serves without pattern. No reading of
a grid gets below that.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.h100_rows import BACKEND, DEVICE, Absent, Rows, RowSource, gemm_rows
from benchmarks.holdout import Errors
from servingsim.timing.engine import Kernel
from servingsim.timing.grid import product_rows
from servingsim.timing.kernels.single_gemm import KERNEL, SingleGemmConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from servingsim.timing.source import FloatArray

POWERS = np.array([2.0**exponent for exponent in range(16)])
OWN_GRID = np.array(product_rows(32768), dtype=np.float64)
ENDS = ((1, 1), (1, 2), (2, 1), (2, 2))
"""Places below and above of the sizes whose lines a smooth reading averages."""
BESIDE = ("trtllm-1.3.0rc20", "sglang-0.5.14")
"""Backends of the same device whose rows lie beside."""


@dataclass(frozen=True)
class Split:
    """Held-out results.

    Attributes:
        ours: Errors of the cache.
        baseline: Errors of log-log interpolation through the same points, where it was asked.
        below_limit: Predictions below the device's physical limit.
        m: Of each prediction.
    """

    ours: Errors
    baseline: Errors
    below_limit: int
    m: FloatArray

    def by_m(self, bounds: Sequence[float]) -> list[tuple[str, float, float]]:
        """Name, MAPE and share of the whole error of each range of m; each of `bounds` ends a range."""
        off = np.abs(self.ours.percent)
        edges = [0.0, *bounds, np.inf]
        found = []
        for low, high in pairwise(edges):
            inside = (self.m > low) & (self.m <= high)
            if inside.any():
                name = f"m {low:.0f} to {high:.0f}" if np.isfinite(high) else f"m above {low:.0f}"
                found.append((name, float(off[inside].mean()), float(off[inside].sum() / off.sum())))
        return found


def measure() -> dict[str, float]:
    """Every figure."""
    rows = gemm_rows()
    powers, grid = held_out_m(rows, POWERS), held_out_m(rows, OWN_GRID)
    beside = rows_beside()
    powers_beside, grid_beside = held_out_m(rows, POWERS, beside), held_out_m(rows, OWN_GRID, beside)
    one, many = held_out_shapes(rows), held_out_every_other_shape(rows)
    splits = (powers, grid, powers_beside, grid_beside)
    return {
        **powers.ours.figures("gemm_m_held_out"),
        **powers.baseline.figures("gemm_m_held_out_loglog"),
        **powers_beside.ours.figures("gemm_m_held_out_beside"),
        **grid.ours.figures("gemm_m_held_out_own_grid"),
        **grid.baseline.figures("gemm_m_held_out_own_grid_loglog"),
        **grid_beside.ours.figures("gemm_m_held_out_own_grid_beside"),
        **one.figures("gemm_shape_held_out"),
        **many.figures("gemm_every_other_shape_held_out"),
        "gemm_below_physical_limit": sum(split.below_limit for split in splits),
    }


def rows_beside() -> dict[str, Rows]:
    """Rows of the other backends, as far as this version of the wheel has them."""
    found = {}
    for backend in BESIDE:
        with suppress(Absent):
            found[backend] = gemm_rows(backend)
    return found


def held_out_m(rows: Rows, kept: FloatArray, beside: Mapping[str, Rows] | None = None) -> Split:
    """Build every shape's cache from the values of m in `kept`, ask the others inside their range.

    Args:
        rows: Of the backend that is judged.
        kept: Values of m.
        beside: All rows of other backends on the device.
    """
    train = np.isin(rows.columns["m"], kept)
    source = RowSource("single_gemm", rows.where(train), beside or {})
    ours, baseline, asked, below_limit = [], [], [], 0
    for n, k in _shapes(rows):
        test = _of_shape(rows.where(~train), n, k)
        kernel = _kernel(source, n, k)
        m = test.columns["m"].astype(np.float64)[:, None]
        predicted_ms = kernel.eval(m).time_ms
        below_limit += int((predicted_ms < kernel.limit_ms(m) * (1 - 1e-12)).sum())
        ours.append(Errors.of(predicted_ms, test.time_ms))
        asked.append(m[:, 0])
        known = _of_shape(source.held, n, k)
        straight = np.interp(np.log(m[:, 0]), np.log(known.columns["m"]), np.log(known.time_ms))
        baseline.append(Errors.of(np.exp(straight), test.time_ms))
    return Split(Errors.together(ours), Errors.together(baseline), below_limit, np.concatenate(asked))


def from_all_others(rows: Rows, kept: FloatArray) -> Errors:
    """What is left where nothing but the library's pick of a kernel is unknown: each size from all others of its shape.

    Args:
        rows: Of one backend.
        kept: Values of m that are not asked, so that the same sizes are judged as where these are the fit.
    """
    errors = []
    for n, k in _shapes(rows):
        own = _of_shape(rows, n, k)
        ranked = np.argsort(own.columns["m"])
        m, time_ms = own.columns["m"][ranked].astype(np.float64), own.time_ms[ranked]
        asked = np.flatnonzero(~np.isin(m, kept))
        asked = asked[(asked >= 2) & (asked < len(m) - 2)]
        read_ms = np.exp(np.mean([_line(np.log(m), np.log(time_ms), asked, *ends) for ends in ENDS], axis=0))
        errors.append(Errors.of(read_ms, time_ms[asked]))
    return Errors.together(errors)


def _line(x: FloatArray, y: FloatArray, at: np.ndarray, below: int, above: int) -> FloatArray:
    """The line through the points so many places below and above, at the points between."""
    low, high = at - below, at + above
    weight = (x[at] - x[low]) / (x[high] - x[low])
    line: FloatArray = y[low] * (1 - weight) + y[high] * weight
    return line


def held_out_shapes(rows: Rows) -> Errors:
    """Every shape in turn without rows; those at the corners of the grid, which nothing surrounds, are left out."""
    errors = []
    for n, k in _shapes(rows):
        others = rows.where(~((rows.columns["n"] == n) & (rows.columns["k"] == k)))
        errors += _asked([(n, k)], rows, RowSource("single_gemm", others))
    return Errors.together(errors)


def held_out_every_other_shape(rows: Rows) -> Errors:
    """Every other n and every other k of the grid without rows, asked where both are missing."""
    odd = {name: np.unique(rows.columns[name])[1:-1:2] for name in ("n", "k")}
    gone = np.isin(rows.columns["n"], odd["n"]) | np.isin(rows.columns["k"], odd["k"])
    asked = [(n, k) for n, k in _shapes(rows) if n in odd["n"] and k in odd["k"]]
    return Errors.together(_asked(asked, rows, RowSource("single_gemm", rows.where(~gone))))


def _asked(shapes: list[tuple[int, int]], rows: Rows, source: RowSource) -> list[Errors]:
    errors = []
    for n, k in shapes:
        kernel = _kernel(source, n, k)
        if len(kernel.tables[0].donors) > 1:
            truth = _of_shape(rows, n, k)
            predicted_ms = kernel.eval(truth.columns["m"].astype(np.float64)[:, None]).time_ms
            errors.append(Errors.of(predicted_ms, truth.time_ms))
    return errors


def _kernel(source: RowSource, n: int, k: int) -> Kernel:
    config = SingleGemmConfig(gpu_name=DEVICE, backends=(BACKEND,), n=n, k=k, dtype="bf16")
    return Kernel.build(f"gemm {n} x {k}", KERNEL, config, source)


def _shapes(rows: Rows) -> list[tuple[int, int]]:
    both = np.unique(np.stack([rows.columns["n"], rows.columns["k"]], axis=1), axis=0)
    return [(int(n), int(k)) for n, k in both]


def _of_shape(rows: Rows, n: int, k: int) -> Rows:
    return rows.where((rows.columns["n"] == n) & (rows.columns["k"] == k))
