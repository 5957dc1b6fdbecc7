"""What this machine's CPU is, read from the operating system and limited to what this process may use."""

from __future__ import annotations

import math
import os
import platform
import resource
from pathlib import Path

DEFAULT_CACHE_BYTES = 32 * 2**20
"""Last-level cache where the system does not say: displacing more than there is does no harm."""
UNLIMITED_BYTES = 2**60
_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def model_name() -> str:
    """The CPU as its vendor calls it."""
    for line in _text(_PROC / "cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown CPU"


def available_threads() -> int:
    """Cores that this process may use: affinity, and the container's quota rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _text(_CGROUP / "cpu.max").partition(" ")
    if not quota.strip():
        quota, period = _text(_CGROUP / "cpu/cpu.cfs_quota_us"), _text(_CGROUP / "cpu/cpu.cfs_period_us")
    if _number(quota) > 0 and _number(period) > 0:
        cores = min(cores, math.ceil(_number(quota) / _number(period)))
    return max(cores, 1)


def memory_bytes() -> int:
    """Memory that this process may hold: the machine's, or less where a container or a limit says so."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [_number(_text(_CGROUP / name)) for name in ("memory.max", "memory/memory.limit_in_bytes")]
    limits += [soft for soft, _ in map(resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_DATA))]
    return min([total, *(limit for limit in limits if 0 < limit < UNLIMITED_BYTES)])


def free_memory_bytes() -> int:
    """Memory that can be taken now without swapping."""
    for line in _text(_PROC / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return min(int(line.split()[1]) * 1024, memory_bytes())
    return memory_bytes() // 2


def last_level_cache_bytes() -> int:
    """Size of the largest cache level."""
    sizes = [_size(_text(path)) for path in _CACHES.glob("index*/size")]
    return max(sizes, default=0) or DEFAULT_CACHE_BYTES


def _size(text: str) -> int:
    """Bytes of a size such as "32768K"."""
    digits, unit = text.strip()[:-1], text.strip()[-1:]
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(unit, 0)
    return _number(digits) * factor


def _number(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
