"""Temporary results of a launch come from memory that the process already has."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from profiling.allocator import ENVIRONMENT
from profiling.discovery import PACKAGE_ROOT

COUNT_FAULTS = """
import resource
from itertools import cycle, islice
from profiling.contract import Setting
from profiling.registry import backends
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
norm = backends()["rms_norm", "transformers"]
launch = norm.prepare(Setting("cpu", 1, 2**25, 2**32), num_tokens=8192, hidden_size=128, dtype="bf16")
calls = cycle(launch.calls)
for call in islice(calls, 6):
    call()
before = faults()
for call in islice(calls, 10):
    call()
print((faults() - before) / 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's allocator")
def test_a_launch_does_not_fault_its_temporaries_in_again() -> None:
    """In a fresh process every temporary of 4 MB costs a thousand page faults: seven times the kernel's time."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS],
        cwd=PACKAGE_ROOT,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 150
