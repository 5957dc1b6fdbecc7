"""Measured H100 rows as the benchmarks need them: read straight from the data wheel, nothing is stored."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from profiling.datasheet import datasheet_device
from servingsim.timing.source import DeviceSpec, FloatArray, HostOverhead, KernelRows, Payload, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEVICE = "NVIDIA H100 80GB HBM3"
BACKEND = "vllm-0.24.0"
WHEEL = "aiconfigurator_core"


class Absent(Exception):  # noqa: N818 - not an error: the benchmark is left out
    """What a benchmark reads is not installed."""


@dataclass(frozen=True)
class Rows:
    """Rows of one kind as columns; text columns are left as arrays of str."""

    columns: Mapping[str, np.ndarray]
    time_ms: FloatArray

    def where(self, keep: np.ndarray) -> Rows:
        """The rows of a mask."""
        return Rows({name: column[keep] for name, column in self.columns.items()}, self.time_ms[keep])

    def renamed(self, **names: str) -> Rows:
        """The rows with columns under other names."""
        return replace(self, columns={names.get(name, name): column for name, column in self.columns.items()})

    def with_column(self, name: str, value: int) -> Rows:
        """The rows with one more column of one value."""
        return replace(self, columns={**self.columns, name: np.full(len(self), value)})

    def __len__(self) -> int:
        return len(self.time_ms)


@dataclass(frozen=True)
class RowSource:
    """Rows of one kind as a `TimingSource`: what a held-out split is asked through.

    Attributes:
        kind: Its kind.
        held: Rows of BACKEND.
        beside: Rows of other backends on the device, by backend.
    """

    kind: str
    held: Rows
    beside: Mapping[str, Rows] = field(default_factory=dict)

    def device(self, name: str) -> DeviceSpec:
        """The H100's datasheet."""
        row = datasheet_device(name)
        if row is None:
            raise KeyError(name)
        return row.spec()

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """BACKEND and those beside it."""
        return (BACKEND, *self.beside) if (kind, device) == (self.kind, DEVICE) else ()

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """Rows that match `fixed`."""
        if backend not in self.backends(kind, device):
            return None
        held = self.beside.get(backend, self.held)
        columns = held.columns
        keep = np.ones(len(held), dtype=bool)
        for name in columns.keys() & fixed.keys():
            keep &= columns[name] == fixed[name]
        if not keep.any():
            return None
        found = held.where(keep)
        args = {name: found.columns[name].astype(np.float64) for name in swept}
        framework, _, version = backend.partition("-")
        provenance = Provenance("imported", device, backend, framework, version, source=WHEEL)
        return KernelRows(args, found.time_ms, np.full(len(found), np.nan), provenance)

    def fastest_ms(self, device: str) -> float:
        """The shortest of the rows."""
        del device
        return float(self.held.time_ms.min())

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """Never measured here."""
        del device, stack
        return None


def table(family: str, name: str, backend: str = BACKEND) -> Path:
    """The wheel's file of H100 rows measured with a backend, by its name and version.

    Raises:
        Absent: The wheel is not installed, or not this version of it.
    """
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise Absent(f"{WHEEL} is not installed: pip install 'servingsim[gpu-data]'")
    root = Path(next(iter(spec.submodule_search_locations))) / "systems" / "data" / "h100_sxm"
    path = root.joinpath(family, *backend.split("-", 1), f"{name}.parquet")
    if not path.is_file():
        raise Absent(f"{path.name} of {backend} is not in this version of {WHEEL}")
    return path


@cache
def gemm_rows(backend: str = BACKEND) -> Rows:
    """All bf16 GEMM rows of a backend, once a shape: m, n, k."""
    columns = _read(table("gemm", "gemm_perf", backend), ["gemm_dtype", "m", "n", "k", "latency"])
    bf16 = columns.pop("gemm_dtype") == "bfloat16"
    rows = Rows({name: columns[name] for name in ("m", "n", "k")}, columns["latency"]).where(bf16)
    return _medians(rows)


@cache
def attention_rows(phase: str) -> Rows:
    """bf16 FlashAttention-3 without a window, once a shape: num_heads, num_kv_heads, head_dim, batch_size, length.

    Args:
        phase: "context" (length = new tokens, no prefix) or "generation" (length = keys of each request).
    """
    names = ["num_heads", "num_key_value_heads", "head_dim", "batch_size", "isl", "step", "window_size"]
    path = table("attention", f"{phase}_attention_perf")
    columns = _read(path, [*names, "kernel_source", "attn_dtype", "kv_cache_dtype", "latency"])
    keep = columns["kernel_source"] == "vllm_flash_attn_fa3"
    keep &= (columns["attn_dtype"] == "bfloat16") & (columns["kv_cache_dtype"] == "bfloat16")
    keep &= (columns["window_size"] == 0) & (columns["latency"] > 0)
    kept = {
        "num_heads": columns["num_heads"],
        "num_kv_heads": columns["num_key_value_heads"],
        "head_dim": columns["head_dim"],
        "batch_size": columns["batch_size"],
        "length": columns["isl"] + columns["step"],
    }
    return _medians(Rows(kept, columns["latency"]).where(keep))


def _read(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - optional
    except ImportError as error:
        raise Absent("pyarrow is not installed: pip install 'servingsim[gpu-data]'") from error
    found = parquet.read_table(path, columns=names)
    return {name: np.asarray(found[name].to_numpy(zero_copy_only=False)) for name in names}


def _medians(rows: Rows) -> Rows:
    """Repeated shapes as their median."""
    keys = np.stack(list(rows.columns.values()), axis=1).astype(np.int64)
    shapes, group = np.unique(keys, axis=0, return_inverse=True)
    ranked = np.lexsort((rows.time_ms, group.ravel()))
    start = np.searchsorted(group.ravel()[ranked], np.arange(len(shapes) + 1))
    middle = [ranked[(start[i] + start[i + 1] - 1) // 2] for i in range(len(shapes))]
    return rows.where(np.array(middle))
