"""Fidelity of latent attention, recurrences and exchanges on measured H100 rows that their caches have not seen.

Every other value of each axis is left out, the largest kept, and asked for: cells twice as wide as they are measured.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("aiconfigurator_core")
pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

from benchmarks.h100_rows import BACKEND, DEVICE, Rows, RowSource
from benchmarks.holdout import Errors
from profiling.importers.aiconfigurator import IMPORTER
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.engine import Kernel
from servingsim.timing.registry import kernels

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.timing.contract import KernelKind

FEWEST = 8
"""Rows of a Config below which nothing is left to hold out."""


@pytest.mark.parametrize(
    ("stack", "version", "table", "kind", "mape_percent"),
    [
        ("vllm", "0.24.0", "gdn_scan", "gated_delta_prefill", 4.5),
        ("trtllm", "1.3.0rc20", "context_mla", "mla_prefill", 4.5),
        ("sglang", "0.5.14", "generation_mla", "mla_decode", 3.5),
        ("sglang", "0.5.12", "deepep_ll_dispatch", "moe_dispatch", 2.5),
    ],
)
def test_the_mean_error_on_rows_left_out_is_small(
    tmp_path: Path, stack: str, version: str, table: str, kind: str, mape_percent: float
) -> None:
    """Measured 4.0, 4.2, 2.8 and 1.7 %.

    Defect: a work model that grows with the wrong axis bends every time between two measured ones.
    """
    with Store.open(tmp_path / "times.db", create=True) as store:
        try:
            IMPORTER.run(store, system="h100_sxm", stack=stack, version=version, table=(table,))
        except ServingSimError as absent:
            pytest.skip(f"another version of the tables: {absent}")
        rows = [row for row in store.rows(kind) if not row["outlier"]]
    errors = [each for own in _configs(kernels()[kind], rows) if (each := _held_out(*own)) is not None]
    assert errors
    assert Errors.together(errors).mape < mape_percent


def _configs(
    kind: KernelKind[Any, Any], rows: list[dict[str, Any]]
) -> list[tuple[Any, dict[str, Any], Rows]]:
    """The rows of each Config that has enough of them."""
    fixed = [name for name in kind.args if name not in kind.axes]
    numbers = [name for name in fixed if isinstance(rows[0][name], int)]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in fixed)].append(row)
    return [
        (
            kind,
            dict(zip(fixed, key, strict=True)),
            Rows(
                {
                    name: np.array([row[name] for row in own], dtype=np.float64)
                    for name in (*kind.axes, *numbers)
                },
                np.array([row["median_ms"] for row in own]),
            ),
        )
        for key, own in groups.items()
        if len(own) >= FEWEST
    ]


def _held_out(kind: KernelKind[Any, Any], fixed: dict[str, Any], rows: Rows) -> Errors | None:
    coords = np.stack([rows.columns[axis] for axis in kind.axes], axis=1)
    train = np.logical_and.reduce([np.isin(column, _every_other(column)) for column in coords.T])
    config = kind.config(gpu_name=DEVICE, backends=(BACKEND,), **fixed)
    answer = Kernel.build(kind.kind, kind, config, RowSource(kind.kind, rows.where(train))).eval(coords)
    asked = ~train & (answer.flags == 0)
    return Errors.of(answer.time_ms[asked], rows.time_ms[asked]) if asked.any() else None


def _every_other(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values = np.unique(column)
    return np.append(values[::2], values[-1])
