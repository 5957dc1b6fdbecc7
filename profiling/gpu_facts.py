"""What GPU this process would use, asked of the driver's own tool so that torch need not be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

QUERY_TIMEOUT_S = 20


@dataclass(frozen=True)
class GpuFacts:
    """The first visible GPU as its driver describes it."""

    name: str
    memory_bytes: int
    free_memory_bytes: int
    driver: str


def visible_gpu() -> GpuFacts | None:
    """The first GPU of `$CUDA_VISIBLE_DEVICES`, or of the machine; None where there is none."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    tool = shutil.which("nvidia-smi")
    if tool is None or visible in {"", "-1"}:
        return None
    fields = "name,memory.total,memory.free,driver_version"
    command = [tool, f"--id={visible}", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_TIMEOUT_S, check=True)
        name, total_mib, free_mib, driver = (part.strip() for part in done.stdout.splitlines()[0].split(","))
        return GpuFacts(name, int(total_mib) * 2**20, int(free_mib) * 2**20, driver)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
