"""Fits how a matrix product's time runs between measured rows, on whole devices: `python -m benchmarks.row_curves`.

Writes `servingsim/timing/row_curves/*.json`, one file for each set of devices below. Two sets for each kind of matrix
unit, without a device in common, so that no device is ever read with a curve that its own rows helped to fit: a device
that one set was fitted on is read with the other.

Every shape of a table is shown with several measured grids (powers of two, our own, random ones); the trees learn how
far sizes between lie from straight lines. A second, smaller sum of trees learns how large that distance still is.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.h100_rows import Absent
from benchmarks.tree_fit import Plan, fit
from servingsim.timing.grid import product_rows
from servingsim.timing.row_curves.geometry import FEWEST, Measured, Product, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.timing.source import FloatArray

WIDTHS = {"bfloat16": 2.0, "fp8": 1.0, "fp8_block": 1.0}
"""Bytes of an element; a product of narrower operands runs as much faster at its peak."""
BITS = {"16": 2.0, "8": 1.0}
"""Operands that a file is for: the library picks other kernels for narrower ones."""
MULTIPROCESSORS = {
    "a100_sxm": 108, "l40s": 142, "rtx_pro_6000_server": 188, "h100_sxm": 132, "h200_sxm": 132,
    "b200_sxm": 148, "b300_sxm": 148, "gb200": 152, "gb300": 152,
}  # fmt: skip
NAMES = {
    "a100_sxm": "NVIDIA A100-SXM4-80GB", "l40s": "NVIDIA L40S", "h100_sxm": "NVIDIA H100 80GB HBM3",
    "h200_sxm": "NVIDIA H200", "b200_sxm": "NVIDIA B200", "b300_sxm": "NVIDIA B300 SXM6 AC", "gb200": "NVIDIA GB200",
    "gb300": "NVIDIA GB300", "rtx_pro_6000_server": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
}  # fmt: skip
SETS: dict[str, tuple[str, ...]] = {
    "warp_a": ("a100_sxm", "rtx_pro_6000_server"),
    "warp_b": ("l40s",),
    "warpgroup_a": ("h200_sxm",),
    "warpgroup_b": ("h100_sxm",),
    "tensor_memory_a": ("b300_sxm", "gb300"),
    "tensor_memory_b": ("b200_sxm", "gb200"),
}
LEAST_SIZES = 40
"""Values of m below which a table shows too little of its curve."""
ASKED = 12
"""Sizes asked of a shape under one grid."""
SPREAD = Plan(trees=60, levels=4, clip=1.0)
FLOOR = 0.003
"""Distances below it are rounding."""
COVERED = 0.9
TREE_UNIT, SPREAD_UNIT = 1e-4, 1e-3


@dataclass(frozen=True)
class Shown:
    """Examples of one table: features, distance from straight lines."""

    features: FloatArray
    distance: FloatArray


def main() -> None:
    """Fit every set and write its file."""
    folder = _package("servingsim.timing.row_curves")
    for name, bits in itertools.product(SETS, BITS):
        text = json.dumps(fitted(SETS[name], BITS[bits]), separators=(",", ":"))
        (folder / f"{name}_{bits}.json").write_text(text + "\n")


def fitted(systems: tuple[str, ...], width_bytes: float) -> dict[str, Any]:
    """The file of a set of devices for operands of a width."""
    tables = [
        (system, path, dtype)
        for system in systems
        for path, dtype in _tables(system)
        if WIDTHS[dtype] == width_bytes
    ]
    shown = [_shown(*table, seed) for seed, table in enumerate(tables)]
    features = np.concatenate([each.features for each in shown])
    distance = np.concatenate([each.distance for each in shown])
    bend = fit(features, distance, Plan())
    left = np.abs(distance - bend.sum(features))
    spread = fit(features, np.log(left + FLOOR), SPREAD)
    share = (left + FLOOR) / np.exp(spread.sum(features))
    return {
        "devices": sorted({NAMES[table[0]] for table in tables}),
        "fitted_on": ["/".join(table) for table in tables],
        "examples": len(distance),
        "straight_mape_percent": round(100 * float(np.abs(np.expm1(-distance)).mean()), 3),
        "widen": round(float(np.quantile(share, COVERED)), 4),
        "bend": bend.plain(TREE_UNIT),
        "spread": spread.plain(SPREAD_UNIT),
    }


def _shown(system: str, path: str, dtype: str, seed: int) -> Shown:
    random = np.random.default_rng(seed)
    features, distance = [], []
    for product, m, log_ms in shapes(system, path, dtype):
        for kept in _grids(m, random):
            measured = Measured(m[kept], log_ms[kept])
            others = np.flatnonzero(~kept)
            inside = others[(m[others] > measured.m[0]) & (m[others] < measured.m[-1])]
            asked = random.choice(inside, min(ASKED, len(inside)), replace=False)
            features.append(describe(m[asked], measured, product))
            distance.append(log_ms[asked] - measured.straight(m[asked]))
    return Shown(np.concatenate(features), np.concatenate(distance))


def _grids(m: FloatArray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Which of the sizes count as measured: powers of two, our own grid, a random share with both ends."""
    yield np.isin(m, 2.0 ** np.arange(16))
    yield np.isin(m, product_rows(int(m[-1])))
    some = random.random(len(m)) < random.uniform(0.2, 0.6)
    some[[0, -1]] = True
    if some.sum() >= FEWEST:
        yield some


def shapes(system: str, path: str, dtype: str) -> Iterator[tuple[Product, FloatArray, FloatArray]]:
    """Every weight of a table: the product, its sizes ascending, the logarithm of their times."""
    gpu = _limits(system)
    width = WIDTHS[dtype]
    n, k, m, time_ms = _columns(system, path, dtype)
    order = np.lexsort((m, k, n))
    n, k, m, time_ms = n[order], k[order], m[order], time_ms[order]
    starts = np.flatnonzero(np.append(True, (n[1:] != n[:-1]) | (k[1:] != k[:-1])))
    for begin, end in zip(starts, [*starts[1:], len(n)], strict=True):
        if len(np.unique(m[begin:end])) >= LEAST_SIZES:
            peak = gpu[0] * 2.0 / width
            product = Product(n[begin], k[begin], width, MULTIPROCESSORS[system], peak, gpu[1])
            sizes, group = np.unique(m[begin:end], return_inverse=True)
            median = [float(np.median(time_ms[begin:end][group == each])) for each in range(len(sizes))]
            yield product, sizes, np.log(median)


def _columns(system: str, path: str, dtype: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    from pyarrow import parquet  # noqa: PLC0415 - optional

    rows = parquet.read_table(_root() / "data" / system / "gemm" / path / "gemm_perf.parquet")
    keep = (np.asarray(rows["gemm_dtype"].to_pylist()) == dtype) & (rows["latency"].to_numpy() > 0)
    n, k, m, time_ms = (rows[name].to_numpy().astype(np.float64)[keep] for name in ("n", "k", "m", "latency"))
    return n, k, m, time_ms


def _tables(system: str) -> list[tuple[str, str]]:
    """Every folder (backend/version) of a system with each of its dtypes that we know the width of."""
    from pyarrow import parquet  # noqa: PLC0415 - optional

    found = []
    root = _root() / "data" / system / "gemm"
    for path in sorted(root.glob("*/*/gemm_perf.parquet")):
        rows = parquet.read_table(path, columns=["gemm_dtype", "m"])
        dtypes, m = np.asarray(rows["gemm_dtype"].to_pylist()), rows["m"].to_numpy()
        names = sorted(set(dtypes.tolist()) & WIDTHS.keys())
        wide = [name for name in names if len(np.unique(m[dtypes == name])) >= LEAST_SIZES]
        found += [(path.parent.relative_to(root).as_posix(), name) for name in wide]
    return found


@cache
def _limits(system: str) -> tuple[float, float]:
    """FLOP/s in 16 bits and bytes/s of a system, as its file says."""
    import yaml  # noqa: PLC0415 - optional

    gpu = yaml.safe_load((_root() / f"{system}.yaml").read_text())["gpu"]
    return float(gpu["bfloat16_tc_flops"]), float(gpu["mem_bw"])


def _root() -> Path:
    return _package("aiconfigurator_core") / "systems"


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise Absent(f"{name} is not installed: pip install 'servingsim[gpu-data]'")
    return Path(next(iter(spec.submodule_search_locations)))


if __name__ == "__main__":
    main()
