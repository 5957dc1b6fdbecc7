"""Large files in bounded memory: measured in a process of its own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.captures.conftest import Made

LIMIT_MB = 500
STEP = "execute_context_0(0)_generation_8(8)"
SCRIPT = """
import json, resource, sys
from pathlib import Path
from profiling.captures.loading import load
capture = load(Path(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps([len(capture.launches), len(capture.steps), capture.total_ns, peak]))
"""


def write_large(path: Path, made: type[Made], megabytes: int) -> tuple[int, int]:
    """A trace of decode steps with operations, calls, stacks and kernels; returns launches and steps."""
    layer = ["gemm_qkv", "rope", "attention", "gemm_o", "norm", "gemm_up", "act", "gemm_down"]
    size, step, launch, now = 0, 0, 0, 1_365_627_862_757_000.0
    with gzip.open(path, "wb", compresslevel=1) if path.suffix == ".gz" else path.open("wb") as file:
        file.write(b'{"schemaVersion": 1, "traceEvents": [\n')
        while size < megabytes * 2**20:
            events = [made.mark(STEP, now, 999)]
            for at in range(32 * len(layer)):
                launch += 1
                name = f"void {layer[at % len(layer)]}_kernel<{'T, ' * 30}{at}>(float*)"
                external = {"External id": launch}
                events += [
                    {
                        "ph": "X",
                        "cat": "python_function",
                        "name": f"model.py({at}): forward",
                        "ts": now,
                        "dur": 3,
                        "args": {"Python id": launch, "Python parent id": launch - 1},
                    },
                    made.operation(f"aten::op{at % 50}", launch, now + at, 1, [[8, 4096], [4096, 4096]]),
                    made.launch(launch, now + at, external=launch),
                    made.kernel(name, now + 2000 + 3 * at, 2.5, correlation=launch, **external),
                ]
            text = (",\n".join(map(json.dumps, events)) + ",\n").encode()
            file.write(text)
            size += len(text)
            step += 1
            now += 4000
        file.write(b"]}")
    return launch, step


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["large.json", "large.json.gz"])
def test_a_trace_of_300_mb_is_read_in_less_than_500_mb(tmp_path: Path, made: type[Made], name: str) -> None:
    """Defect: the file parsed as one document: ten times its size."""
    path = tmp_path / name
    launches, steps = write_large(path, made, 300)

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], check=True, capture_output=True, text=True, timeout=600
    )

    found_launches, found_steps, total_ns, peak_mb = json.loads(done.stdout)
    assert (found_launches, found_steps, total_ns) == (launches, steps, launches * 2500)
    assert peak_mb < LIMIT_MB
