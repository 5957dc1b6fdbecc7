"""Traces made by hand, as small as the behaviour they show."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]


class Writer(Protocol):
    """Writes a trace; returns where."""

    def __call__(self, events: list[Event], /, name: str = ..., **beside: object) -> Path: ...


class Made:
    """Events as torch.profiler writes them."""

    @staticmethod
    def kernel(name: str, ts: float, dur: float, **args: object) -> Event:
        whole = {"device": 0, "stream": 7, "correlation": 0, **args}
        return {
            "ph": "X",
            "cat": "kernel",
            "name": name,
            "pid": 0,
            "tid": 7,
            "ts": ts,
            "dur": dur,
            "args": whole,
        }

    @staticmethod
    def launch(correlation: int, ts: float, name: str = "cudaLaunchKernel", external: int = 0) -> Event:
        whole = {"correlation": correlation, "External id": external}
        return {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": name,
            "pid": 99,
            "tid": 99,
            "ts": ts,
            "dur": 1,
            "args": whole,
        }

    @staticmethod
    def operation(name: str, external: int, ts: float, dur: float, dims: object = None) -> Event:
        args = {"External id": external, "Input Dims": dims}
        return {
            "ph": "X",
            "cat": "cpu_op",
            "name": name,
            "pid": 99,
            "tid": 99,
            "ts": ts,
            "dur": dur,
            "args": args,
        }

    @staticmethod
    def mark(name: str, ts: float, dur: float, *, on_device: bool = False) -> Event:
        if on_device:
            return {
                "ph": "X",
                "cat": "gpu_user_annotation",
                "name": name,
                "pid": 0,
                "tid": 7,
                "ts": ts,
                "dur": dur,
            }
        return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 99, "tid": 99, "ts": ts, "dur": dur}


@pytest.fixture
def made() -> type[Made]:
    return Made


@pytest.fixture
def trace(tmp_path: Path) -> Writer:
    def write(events: list[Event], /, name: str = "rank0.pt.trace.json", **beside: object) -> Path:
        path = tmp_path / name
        text = json.dumps({**beside, "traceEvents": events}).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return write
