"""Vidur's golden runs as simulations of ours: its own kernel tables, its requests, its policy.

The tables are Vidur's per-op predictions (ms, one layer) on its integer grid, so both simulators price an iteration
from the same numbers: layers x (token ops at tokens rounded up to 8 + decode attention + prefill attention), with 10 %
on attention where several requests share it and the model has grouped queries.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.sim.loop.build import LogSettings, PoolSettings, new_simulation
from servingsim.sim.loop.state import (
    AXES,
    BATCH_AXIS,
    CHUNK_AXIS,
    COUNT_ROWS,
    GROUP_FACTOR,
    HOST_COLUMNS,
    KV_AXIS,
    MODE_COLUMNS,
    NEXT_UP,
    OF_TOKENS,
    PREFILL_MODE,
    PREFIX_AXIS,
    READING,
    STAGE_SHARE,
    TOGETHER,
    Prices,
)
from servingsim.workers.fleet import WorkerSettings
from servingsim.workers.state import new_requests

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.loop.state import Simulation
    from servingsim.timing.source import FloatArray

TOKEN_STEP, KV_STEP = 8, 64
GROUP = 1.1


@dataclass(frozen=True)
class GoldenRun:
    """One run of Vidur.

    Attributes:
        name: Stem of its files.
        tables: Stem of the file of its op tables.
        layers: Layers of its model.
        grouped: Whether its model has grouped queries.
        kv_blocks: Blocks of 16 tokens.
    """

    name: str
    tables: str
    layers: int
    grouped: bool
    kv_blocks: int


RUNS = (
    GoldenRun("vidur_a800_2000", "vidur_a800_2000", layers=32, grouped=False, kv_blocks=8000),
    GoldenRun("vidur_conv_2000", "vidur_conv_2000", layers=32, grouped=True, kv_blocks=20000),
    GoldenRun("vidur_conv_2000_nb900", "vidur_conv_2000", layers=32, grouped=True, kv_blocks=900),
)


def prices(folder: Path, run: GoldenRun) -> Prices:
    """Vidur's tables as ours."""
    ops = _read_tables(folder / f"{run.tables}_optables.csv.gz")
    factor = GROUP if run.grouped else 1.0
    tokens = max(key for key, _ in ops["attn_pre_proj"])
    count_ms = np.zeros((1, COUNT_ROWS, tokens + 1))
    ragged = {name: table for name, table in ops.items() if name not in {"attn_decode", "attn_prefill"}}
    for count in range(1, tokens + 1):
        up = -(-count // TOKEN_STEP) * TOKEN_STEP
        layer = sum(
            table[count if name == "attn_kv_cache_save" else up, 0]
            for name, table in ragged.items()
            if (up, 0) in table
        )
        count_ms[0, OF_TOKENS, count] = run.layers * layer
    batch, kv, decode = _grid(ops["attn_decode"])
    decode = decode * run.layers
    decode[batch > 1] *= factor
    prefix, chunk, prefill = _grid(ops["attn_prefill"])
    host = np.zeros((1, HOST_COLUMNS))
    host[0, STAGE_SHARE], host[0, GROUP_FACTOR] = 1.0, factor
    modes = np.zeros((1, MODE_COLUMNS), dtype=np.int64)
    modes[0, PREFILL_MODE], modes[0, READING] = TOGETHER, NEXT_UP
    by_batch = np.zeros((1, len(batch), len(chunk), len(prefix)))
    by_batch[0, :] = prefill.T * run.layers
    axes = np.zeros((1, AXES, max(len(batch), len(kv), len(chunk), len(prefix))))
    points = np.zeros((1, AXES), dtype=np.int64)
    for axis, values in ((BATCH_AXIS, batch), (KV_AXIS, kv), (CHUNK_AXIS, chunk), (PREFIX_AXIS, prefix)):
        axes[0, axis, : len(values)], points[0, axis] = values, len(values)
    return Prices(modes, host, count_ms, decode[None], by_batch, axes, points)


def simulation(folder: Path, run: GoldenRun, table: Prices, log: LogSettings | None = None) -> Simulation:
    """The run, before its first event."""
    rows = np.loadtxt(folder / "conv_2000_4096_vidur.csv", delimiter=",", skiprows=1)
    requests = new_requests(rows[:, 0] * 1e3, rows[:, 1].astype(np.int64), rows[:, 2].astype(np.int64))
    worker = WorkerSettings(
        policy="sarathi", token_budget=512, max_seqs=128, kv_blocks=run.kv_blocks, watermark=0.01
    )
    return new_simulation(requests, [PoolSettings(worker)], table, log=log)


def golden_batches(folder: Path, run: GoldenRun) -> list[dict[str, Any]]:
    """Vidur's batches: `r` request ids, `n` their tokens, `t` and `end` seconds."""
    with gzip.open(folder / f"{run.name}_batches.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def _read_tables(path: Path) -> dict[str, dict[tuple[int, int], float]]:
    tables: dict[str, dict[tuple[int, int], float]] = {}
    with gzip.open(path, "rt") as lines:
        for row in csv.DictReader(lines):
            key = (int(float(row["k1"])), int(float(row["k2"] or 0)))
            tables.setdefault(row["op"], {})[key] = float(row["ms"])
    return tables


def _grid(table: dict[tuple[int, int], float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    first, second = (np.array(sorted({key[axis] for key in table}), dtype=np.float64) for axis in (0, 1))
    values = np.array([[table[int(one), int(two)] for two in second] for one in first])
    return first, second, values
