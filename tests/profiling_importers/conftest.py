"""A miniature folder of systems, laid out like the wheel's, and a real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from profiling.store import Store

Rows = Sequence[Mapping[str, Any]]
WriteTable = Callable[[str, Rows], Path]
GPU = "NVIDIA H100 80GB HBM3"
SYSTEM_YAML = """
data_dir: data/tiny
gpu:
  mem_bw: 3350000000000
  mem_capacity: 85899345920
  bfloat16_tc_flops: 989000000000000
  int8_tc_flops: 1978000000000000
  fp8_tc_flops: 1978000000000000
node:
  intra_node_bw: 450000000000
"""
QUERY_VERSIONS_YAML = """
schema_version: 1
defaults:
  vllm: {current: "0.10.0", previous: null}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store whose file does not exist yet."""
    with Store.open(tmp_path / "times.db", create=True) as opened:
        yield opened


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    """A folder with one system and no tables."""
    root = tmp_path / "systems"
    (root / "data" / "tiny").mkdir(parents=True)
    (root / "tiny.yaml").write_text(SYSTEM_YAML)
    (root / "query_versions.yaml").write_text(QUERY_VERSIONS_YAML)
    return root


@pytest.fixture
def write_table(systems: Path) -> WriteTable:
    """Writes a parquet table at "family/stack/version/name" of the system; columns in the order of the rows' keys."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(place: str, rows: Rows) -> Path:
        path = systems / "data" / "tiny" / f"{place}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
        return path

    return write


@pytest.fixture
def gemm_row() -> Callable[..., dict[str, Any]]:
    """A good row of a gemm table, with some columns changed."""

    def row(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
        good = {
            "latency": 0.01,
            "k": 512,
            "gemm_dtype": "bfloat16",
            "n": 256,
            "kernel_source": "linear",
            "m": 16,
            "device": GPU,
            "version": "0.10.0",
            "framework": "VLLM",
            "op_name": "gemm",
        }
        return good | changes

    return row


@pytest.fixture
def attention_row() -> Callable[..., dict[str, Any]]:
    """A good row of an attention table without `window_size`, with some columns changed."""

    def row(operation: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
        good = {
            "op_name": operation,
            "step": 0,
            "isl": 1,
            "batch_size": 4,
            "latency": 0.05,
            "num_key_value_heads": 2,
            "num_heads": 8,
            "head_dim": 128,
            "attn_dtype": "bfloat16",
            "kv_cache_dtype": "fp8",
            "beam_width": 1,
            "kernel_source": "flash",
            "device": GPU,
            "version": "0.10.0",
            "framework": "VLLM",
        }
        return good | changes

    return row
