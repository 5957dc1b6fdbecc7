"""Captures kept: one compact parquet file that holds the launches, with everything else as JSON in its own metadata."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from profiling.captures.sink import ColumnSink

FORMAT = 1
KEY = b"servingsim.capture"
SUFFIX = ".capture.parquet"
NUMBERS = {
    "start_ns": "int64",
    "duration_ns": "int64",
    "launched_ns": "int64",
    "correlation": "int64",
    "process": "int64",
    "stream": "int64",
    "device": "int32",
    "kind": "uint8",
    "graph": "uint8",
}
TEXTS = {"name": "names", "cpu_op": "cpu_ops", "shapes": "shapes"}


def keep(sink: ColumnSink, reader: str, source: Path, target: Path) -> None:
    """Write what was read of a file.

    Args:
        sink: What was read, unjudged: judging is done again, by the version that loads it.
        reader: Who read it.
        source: The file; only its name is kept.
        target: Where to.

    Raises:
        ServingSimError: E_TOOLCHAIN, pyarrow is missing; E_PATH, the target cannot be written.
    """
    pa, pq = _arrow()
    columns: dict[str, Any] = {
        name: pa.array(memoryview(sink.columns[name]), type=getattr(pa, kind)())
        if len(sink.columns[name])
        else pa.array([], type=getattr(pa, kind)())
        for name, kind in NUMBERS.items()
    }
    for name, texts in TEXTS.items():
        values = pa.array(getattr(sink, texts).values(), type=pa.string())
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array(sink.columns[name].tolist(), pa.int32()), values
        )
    grids = pa.array([",".join(map(str, each)) for each in sink.grids.values()], type=pa.string())
    columns["grid"] = pa.DictionaryArray.from_arrays(
        pa.array(sink.columns["grid"].tolist(), pa.int32()), grids
    )
    table = pa.table(columns).replace_schema_metadata(
        {KEY: json.dumps(_manifest(sink, reader, source)).encode()}
    )
    partial = target.with_name(target.name + ".partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, partial, compression="zstd")
        partial.replace(target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise ServingSimError(
            f"cannot be written: {error.strerror or error}", code="E_PATH", path=str(target)
        ) from error


def manifest_of(path: Path) -> tuple[Any, Mapping[str, Any]]:
    """The open parquet file and what stands in its metadata.

    Raises:
        ServingSimError: E_INPUT, it is damaged, or no kept capture of this version.
    """
    _, pq = _arrow()
    try:
        file = pq.ParquetFile(path)
        manifest = json.loads((file.schema_arrow.metadata or {}).get(KEY, b"{}"))
    except (OSError, ValueError) as error:
        raise ServingSimError(f"is a damaged parquet file: {error}", path=str(path)) from error
    missing = {*NUMBERS, *TEXTS, "grid"} - set(file.schema_arrow.names)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or missing:
        raise ServingSimError(
            "is a parquet file, but no capture of this version",
            path=str(path),
            hint="servingsim capture import FILE writes one",
        )
    return file, manifest


def _manifest(sink: ColumnSink, reader: str, source: Path) -> dict[str, object]:
    return {
        "format": FORMAT,
        "source": sink.facts.get("source", source.name),
        "reader": sink.facts.get("kept_reader", reader),
        "facts": sink.facts,
        "devices": {str(index): name for index, name in sink.devices.items()},
        "damage": dict(sink.damage),
        "other_marks": sink.other_marks,
        "marks": [asdict(mark) for mark in sink.marks],
        "summaries": [asdict(each) for each in sink.summaries],
    }


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise ServingSimError(
            "keeping captures needs pyarrow", code="E_TOOLCHAIN", hint="pip install 'servingsim[captures]'"
        ) from error
    return pa, pq
