"""A run as tables: every request, and every iteration of the log, as parquet with a manifest beside it.

Names stand in the manifest alone: rows hold numbers of workers and requests.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from server.whole_file import plain_json, write_whole
from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import (
    LOG_BEGIN_MS,
    LOG_END_MS,
    LOG_KV_BLOCKS,
    LOG_PREFILLS,
    LOG_REQUESTS,
    LOG_RUNNING,
    LOG_TOKENS,
    LOG_WAITING,
    LOG_WORKER,
)
from servingsim.sim.results.requests import request_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    import numpy.typing as npt

    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import LogPiece, Simulated

LOG_COLUMNS = {
    "begin_ms": (LOG_BEGIN_MS, "float64"),
    "end_ms": (LOG_END_MS, "float64"),
    "worker": (LOG_WORKER, "int32"),
    "requests": (LOG_REQUESTS, "int32"),
    "prefills": (LOG_PREFILLS, "int32"),
    "tokens": (LOG_TOKENS, "int32"),
    "kv_blocks": (LOG_KV_BLOCKS, "int64"),
    "running": (LOG_RUNNING, "int32"),
    "waiting": (LOG_WAITING, "int32"),
}
"""Columns of an iteration: where it stands in the loop's log, and its type."""


def write_requests(simulated: Simulated, folder: Path) -> Path:
    """One row a request, in the order of arrival: `requests.parquet`, or without pyarrow `requests.csv`.

    Raises:
        ServingSimError: E_PATH, the file cannot be written.
    """
    columns = request_columns(simulated)
    try:
        pa, pq = _pyarrow()
    except ServingSimError:
        path, data = folder / "requests.csv", _csv(columns)
    else:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink, compression="zstd")
        path, data = folder / "requests.parquet", sink.getvalue().to_pybytes()
    try:
        write_whole(path, data)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


class IterationLog:
    """A log under way: give its `add` to `simulate` as `on_log`, then `finish` it.

    Every `every`-th iteration is kept. The files appear when it is finished.
    """

    def __init__(self, path: Path, deployment: Deployment, *, every: int = 1) -> None:
        self._path, self._every, self._seen, self._kept = path, every, 0, 0
        self._beside = path.with_name(f".{path.name}.part")
        self._manifest: dict[str, Any] = {
            "columns": list(LOG_COLUMNS),
            "every": every,
            "workers": [
                {"pool": pool.name, "device": pool.device, "replica": replica}
                for pool in deployment.pools
                for replica in range(pool.replicas)
            ],
        }

    def __enter__(self) -> Self:
        """Begin the file.

        Raises:
            ServingSimError: E_STATE, pyarrow is not installed; E_PATH, the file cannot be written.
        """
        self._pa, pq = _pyarrow()
        self._schema = self._pa.schema(
            [
                (name, self._pa.from_numpy_dtype(np.dtype(kind)))
                for name, (_place, kind) in LOG_COLUMNS.items()
            ]
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._beside, self._schema, compression="zstd")
        except OSError as error:
            raise _unwritable(self._path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._writer.close()
        self._beside.unlink(missing_ok=True)

    def add(self, piece: LogPiece) -> None:
        """Keep a piece of the log."""
        begin = -self._seen % self._every
        self._seen += len(piece.rows)
        rows = piece.rows[begin :: self._every]
        self._kept += len(rows)
        columns = {name: rows[:, place].astype(kind) for name, (place, kind) in LOG_COLUMNS.items()}
        self._writer.write_table(self._pa.table(columns, schema=self._schema))

    def finish(self, simulated: Simulated) -> None:
        """Put the file in its place, and its manifest beside it."""
        self._writer.close()
        said = self._manifest | {
            "model": simulated.deployment.model,
            "workload": simulated.workload.name,
            "iterations": self._seen,
            "rows": self._kept,
            "deployment": simulated.deployment.model_dump(mode="json"),
        }
        write_whole(self._path.with_suffix(".json"), plain_json(said, indent=1) + b"\n")
        self._beside.replace(self._path)


def _csv(columns: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    """Rows as text; a time that never came is empty."""
    names = ",".join(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = (",".join("" if value != value else str(value) for value in row) for row in rows)  # noqa: PLR0124 - NaN
    return "\n".join([names, *lines, ""]).encode()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ServingSimError(
            "tables are parquet files, which need pyarrow",
            code="E_STATE",
            hint="install servingsim[captures]",
        ) from error
    return pa, pq


def _unwritable(path: Path, error: OSError) -> ServingSimError:
    return ServingSimError(f"cannot be written: {error.strerror or error}", code="E_PATH", path=str(path))
