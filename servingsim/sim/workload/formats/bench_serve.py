"""Result files of `vllm bench serve --save-detailed`: lengths, and when each request was sent where it was recorded."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows, finite
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

LARGEST_FILE = 512_000_000


def read(path: Path, limit: int | None) -> Workload:
    """Read the file; without `start_times` requests come evenly at its request rate."""
    data = result_object(path)
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
    starts, rate = data.get("start_times"), data.get("request_rate")
    if isinstance(starts, list):
        known = [number for each in starts if (number := finite(each)) is not None]
        if len(known) != count:
            raise ServingSimError(
                f"{len(known)} numbers in start_times", known=f"{count} requests", path=str(path)
            )
        first = min(known, default=0.0)
        return [(each - first) * 1e3 for each in known]
    if rate in ("inf", math.inf):
        return [0.0] * count
    number = finite(rate)
    if number is not None and number > 0:
        return [place * 1e3 / number for place in range(count)]
    raise ServingSimError(
        f"no start_times, and request_rate {shown(rate)}",
        hint="record the run with a vLLM that writes start_times, or with a request rate",
        path=str(path),
    )


def result_object(path: Path) -> dict[str, Any]:
    """The one JSON object of a result file.

    Raises:
        ServingSimError: It is too large, no JSON, something else, or holds several results.
    """
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ServingSimError(
            f"{size} bytes", known=f"at most {LARGEST_FILE}", code="E_LIMIT", path=str(path)
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ServingSimError(
            f"this is no JSON: {error}",
            hint="--append-result writes a result a line: give one of them"
            if "Extra data" in str(error)
            else "",
            path=str(path),
        ) from error
    if not isinstance(data, dict):
        raise ServingSimError("this is no JSON object", path=str(path))
    return data


FORMAT = Format(
    "bench_serve",
    "a result file of `vllm bench serve --save-detailed`",
    lambda head: head.lstrip().startswith("{") and ('"request_rate"' in head or '"endpoint_type"' in head),
    read,
)
