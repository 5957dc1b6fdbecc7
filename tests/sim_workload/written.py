"""Small files of every format, each saying the same three requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROMPTS, OUTPUTS, ARRIVALS_MS = (10, 1300, 7), (3, 1, 20), (0.0, 250.5, 1000.0)
ROWS = tuple(zip(PROMPTS, OUTPUTS, ARRIVALS_MS, strict=True))


def _csv() -> str:
    return "id,input_len,output_len,arrival_time\n" + "".join(
        f"r{place},{prompt},{output},{time_ms}\n" for place, (prompt, output, time_ms) in enumerate(ROWS)
    )


def _azure() -> str:
    return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
        f"2023-11-16 18:17:{3 + time_ms / 1e3:010.7f},{prompt},{output}\n" for prompt, output, time_ms in ROWS
    )


def _sharegpt() -> str:
    return "input_toks,output_toks,arrival_time_ns\n" + "".join(
        f"{prompt},{output},{int(time_ms * 1e6)}\n" for prompt, output, time_ms in ROWS
    )


def _mooncake() -> str:
    hashes: tuple[list[int], ...] = ([0], [0, 1, 2], [])
    return lines(
        {"timestamp": time_ms, "input_length": prompt, "output_length": output, "hash_ids": ids}
        for (prompt, output, time_ms), ids in zip(ROWS, hashes, strict=True)
    )


def _llmservingsim() -> str:
    return lines(
        {
            "request_id": "b",
            "input_toks": prompt,
            "output_toks": output,
            "arrival_time": 1024.0 + time_ms / 1e3,
        }
        for prompt, output, time_ms in ROWS
    )


def _bench_serve() -> str:
    return json.dumps(
        {
            "date": "20260101-000000",
            "endpoint_type": "vllm",
            "request_rate": "inf",
            "input_lens": list(PROMPTS),
            "output_lens": list(OUTPUTS),
            "start_times": [64.0 + time_ms / 1e3 for time_ms in ARRIVALS_MS],
        }
    )


def lines(objects: object) -> str:
    """JSON lines."""
    return "".join(json.dumps(each) + "\n" for each in objects)  # type: ignore[attr-defined]


TEXTS = {
    "csv": _csv(),
    "azure": _azure(),
    "sharegpt": _sharegpt(),
    "mooncake": _mooncake(),
    "llmservingsim": _llmservingsim(),
    "bench_serve": _bench_serve(),
}
"""A file of each format by the format's name."""


def written(folder: Path, text: str, name: str = "trace.txt") -> Path:
    """A file with this text; its name says nothing of its format."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
