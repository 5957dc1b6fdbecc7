"""A user's own folder of tables, and files that are anything but tables."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiling.importers.aiconfigurator import IMPORTER
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

Row = Callable[..., dict[str, Any]]
FAST = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
HEADER = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
LINE = "TRTLLM,1.0.0rc3,NVIDIA H100 80GB HBM3,gemm,torch_flow,float16,8,64,32,0.5\n"


def imported(store: Store, folder: Path, **options: Any) -> int:  # noqa: ANN401 - the importer's options
    """Rows that were taken, 0 for a refusal; any other exception is a defect."""
    try:
        return IMPORTER.run(store, data_dir=str(folder), **options).rows_kept
    except ServingSimError:
        return 0


@pytest.mark.parametrize("name", ["gemm_perf.txt", "mine.csv", "mine.csv.gz", "gemm_perf.txt.gz"])
def test_comma_separated_tables_are_known_by_their_columns(store: Store, tmp_path: Path, name: str) -> None:
    """Defect: a table known only under one file name, or read as text with wrong types."""
    folder = tmp_path / "mine"
    folder.mkdir()
    text = (HEADER + LINE + LINE.replace("0.5", "0.7")).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    report = IMPORTER.run(store, data_dir=str(folder))
    (row,) = store.rows("single_gemm")
    assert (row["backend"], row["dtype"], row["m"], row["median_ms"]) == (
        "trtllm-1.0.0rc3:torch_flow", "fp16", 8, 0.6,
    )  # fmt: skip
    assert row["source"] == f"folder mine: {name}"
    assert report.tables["gemm"].rows_merged == 1


def test_a_table_without_device_framework_and_version_takes_them_from_the_options(
    store: Store, tmp_path: Path
) -> None:
    """Defect: the user's own short table cannot be imported, or lands under an empty device."""
    path = tmp_path / "gemm_perf.csv"
    path.write_text("k,latency,gemm_dtype,n,m\n32,0.5,fp8,64,8\n")
    with pytest.raises(ServingSimError, match="no row of gemm can be taken") as caught:
        IMPORTER.run(store, data_dir=str(path))
    assert "--device-name" in caught.value.known
    IMPORTER.run(store, data_dir=str(path), device_name="My GPU", stack="mine", version="1.2")
    (row,) = store.rows("single_gemm")
    assert (row["device"], row["backend"], row["framework_version"]) == ("My GPU", "mine-1.2:default", "1.2")
    assert store.devices() == []


def test_a_table_by_name_that_lacks_its_dtype_says_which_column(store: Store, tmp_path: Path) -> None:
    """Defect: "no table found" for a table whose header has a typing error."""
    (tmp_path / "gemm_perf.csv").write_text("m,n,k,latency\n1,2,3,0.5\n")
    with pytest.raises(ServingSimError, match="has no column gemm_dtype"):
        IMPORTER.run(store, data_dir=str(tmp_path))


def test_options_of_a_system_are_refused_with_a_folder(store: Store, tmp_path: Path) -> None:
    """Defect: --system silently ignored."""
    with pytest.raises(ServingSimError, match="--data-dir reads a folder"):
        IMPORTER.run(store, data_dir=str(tmp_path), system="h100_sxm")


def test_missing_and_empty_folders_are_refused(store: Store, tmp_path: Path) -> None:
    """Defect: success with zero rows for a mistyped path."""
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ServingSimError) as caught:
            IMPORTER.run(store, data_dir=str(folder))
        assert caught.value.code == "E_PATH"
    assert not store.path.exists()


@FAST
@given(
    content=st.binary(max_size=400),
    name=st.sampled_from(["gemm_perf.parquet", "a.csv", "b.txt.gz", "moe_perf.txt"]),
)
def test_arbitrary_bytes_are_refused(store: Store, tmp_path: Path, content: bytes, name: str) -> None:
    """Defect: a traceback from the reader."""
    folder = tmp_path / "bytes"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_bytes(content)
    assert imported(store, folder) == 0
    assert not store.path.exists()


CELL = st.one_of(
    st.sampled_from(
        ["gemm", "moe", "bfloat16", "fp8", "", "nan", "inf", "-1", "0", "1e400", "1", "8", "2.5", "9" * 30]
    ),
    st.text(max_size=6),
    st.floats().map(str),
    st.integers().map(str),
)


@FAST
@given(rows=st.lists(st.lists(CELL, min_size=10, max_size=10), min_size=1, max_size=6))
def test_arbitrary_cells_are_refused_or_valid(store: Store, tmp_path: Path, rows: list[list[str]]) -> None:
    """Defect: a cell that breaks the reader, or passes into the store without being a valid row."""
    folder = tmp_path / "cells"
    folder.mkdir(exist_ok=True)
    text = "\n".join(",".join(row) for row in rows)
    (folder / "gemm_perf.csv").write_text(HEADER + text + "\n" + LINE, encoding="utf-8", errors="replace")
    imported(store, folder, device_name="d", stack="s", version="1")
    if store.path.exists():
        assert all(row["m"] >= 1 and row["median_ms"] > 0 for row in store.rows("single_gemm"))


@FAST
@given(position=st.floats(0, 1), junk=st.binary(min_size=1, max_size=8), cut=st.booleans())
def test_damaged_parquet_is_refused_or_read(
    store: Store, tmp_path: Path, gemm_row: Row, position: float, junk: bytes, *, cut: bool
) -> None:
    """Defect: a download that broke off, or a flipped byte, ends in a traceback."""
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    folder = tmp_path / "damaged"
    folder.mkdir(exist_ok=True)
    path = folder / "gemm_perf.parquet"
    parquet.write_table(pa.Table.from_pylist([gemm_row(m=m) for m in range(1, 40)]), path)
    whole = path.read_bytes()
    at = int(position * len(whole))
    path.write_bytes(whole[:at] if cut else whole[:at] + junk + whole[at + len(junk) :])
    assert imported(store, folder) <= 39


@FAST
@given(
    content=st.one_of(
        st.binary(max_size=200), st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace"))
    ),
    name=st.sampled_from(["tiny.yaml", "query_versions.yaml", "reuse.yaml", "collection_meta.yaml"]),
)
def test_arbitrary_yaml_is_refused_or_ignored(
    store: Store, systems: Path, gemm_row: Row, content: bytes, name: str
) -> None:
    """Defect: a broken file beside the tables ends in a traceback."""
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    folder = systems / "data/tiny/gemm/vllm/0.10.0"
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist([gemm_row()]), folder / "gemm_perf.parquet")
    path = (systems if name in {"tiny.yaml", "query_versions.yaml"} else folder) / name
    before = path.read_bytes() if path.exists() else None
    path.write_bytes(content)
    with contextlib.suppress(ServingSimError):
        report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
        assert report.rows_kept == 1
    path.unlink() if before is None else path.write_bytes(before)
