"""Result files of `vllm bench serve --save-detailed`: lengths, and when each request was sent where it was recorded."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

LARGEST_FILE = 512_000_000


def read(path: Path, limit: int) -> Workload:
    """Read the file; without `start_times` requests come evenly at its request rate."""
    data = _object(path)
    prompts, outputs = data.get("input_lens"), data.get("output_lens")
    if not isinstance(prompts, list) or not isinstance(outputs, list) or len(prompts) != len(outputs):
        raise ServingSimError(
            "input_lens and output_lens are not two lists of one length",
            hint="record the run with `vllm bench serve --save-result --save-detailed`",
            path=str(path),
        )
    times = _times(path, data, len(prompts))
    rows = Rows(str(path), limit)
    for index, (prompt, output, time_ms) in enumerate(zip(prompts, outputs, times, strict=True)):
        # A request that failed has no output: it is not part of the work.
        if rows.full or output == 0:
            continue
        rows.add(f"request {index}", time_ms, prompt, output)
    return rows.workload(path.stem, f"{path.name}, result of vllm bench serve")


def _times(path: Path, data: dict[str, Any], count: int) -> list[float]:
    starts = data.get("start_times")
    if (
        isinstance(starts, list)
        and len(starts) == count
        and all(isinstance(each, float | int) for each in starts)
    ):
        return [(each - min(starts)) * 1e3 for each in starts]
    rate = data.get("request_rate")
    if rate in {"inf", float("inf")}:
        return [0.0] * count
    if isinstance(rate, float | int) and rate > 0:
        return list(accumulate([0.0, *([1e3 / rate] * (count - 1))]))
    raise ServingSimError("neither start_times nor a request_rate says when requests came", path=str(path))


def _object(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ServingSimError(
            f"{size} bytes", known=f"at most {LARGEST_FILE}", code="E_LIMIT", path=str(path)
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ServingSimError(f"this is no JSON: {error}", path=str(path)) from error
    if not isinstance(data, dict):
        raise ServingSimError("this is no JSON object", path=str(path))
    return data


FORMAT = Format(
    "bench_serve",
    "a result file of `vllm bench serve --save-detailed`",
    lambda head: head.lstrip().startswith("{") and ('"request_rate"' in head or '"endpoint_type"' in head),
    read,
)
