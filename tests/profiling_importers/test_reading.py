"""Tables read without a store hold what an import would have stored: errors are told of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.aiconfigurator import IMPORTER
from profiling.importers.aiconfigurator.plan import Choice
from profiling.importers.aiconfigurator.reading import read_tables

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.store import Store
    from tests.profiling_importers.conftest import WriteTable

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

Row = Callable[..., dict[str, Any]]


@pytest.fixture
def table(write_table: WriteTable, gemm_row: Row) -> None:
    """Two kernels, a repeated shape, and a row that no device can have run."""
    write_table(
        "gemm/vllm/0.10.0/gemm_perf",
        [
            gemm_row(m=16, latency=0.010),
            gemm_row(m=16, latency=0.012),
            gemm_row(m=64, latency=0.020),
            gemm_row(m=64, kernel_source="other", latency=0.030),
            gemm_row(m=65536, n=65536, k=65536, latency=0.001),
        ],
    )


@pytest.mark.usefixtures("table")
def test_reading_gives_the_rows_that_an_import_stores(systems: Path, store: Store) -> None:
    """Defect: medians, spreads or marks of outliers differ between what is judged and what is used."""
    choice = Choice(system="tiny", stack="vllm", table=("gemm",))
    read = {
        (part.provenance.backend, int(m), int(n), int(k), str(dtype)): (time_ms, bool(trusted))
        for part in read_tables(choice, systems_dir=str(systems))
        for m, n, k, dtype, time_ms, trusted in zip(
            *(part.args[name] for name in ("m", "n", "k", "dtype")), part.time_ms, part.trusted, strict=True
        )
    }
    IMPORTER.run(store, system="tiny", stack="vllm", table=("gemm",), systems_dir=str(systems))
    stored = {
        (row["backend"], row["m"], row["n"], row["k"], row["dtype"]): (row["median_ms"], not row["outlier"])
        for row in store.rows("single_gemm")
    }
    assert read == stored
    assert sum(not trusted for _, trusted in read.values()) == 1


@pytest.mark.usefixtures("table")
def test_each_part_is_one_backend_with_its_device(systems: Path) -> None:
    """Defect: rows of two kernels are judged as one, and each is an error of the other."""
    parts = read_tables(Choice(system="tiny", stack="vllm", table=("gemm",)), systems_dir=str(systems))
    assert [part.provenance.backend for part in parts] == ["vllm-0.10.0:linear", "vllm-0.10.0:other"]
    assert all(part.device is not None and part.device.peak_flops["bf16"] == 989e12 for part in parts)
    assert {(part.provenance.framework, part.provenance.version) for part in parts} == {("vllm", "0.10.0")}
