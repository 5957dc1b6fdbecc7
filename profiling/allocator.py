"""The C allocator of every process that measures: it keeps what it has freed.

By its defaults glibc maps every large block afresh and unmaps it when it is freed, so that each use of it faults all
its pages in again; how large is large rises as blocks are freed, so that a fresh process and a busy one differ
(mallopt(3), M_MMAP_THRESHOLD). Measured: an eager rms_norm of 8192 rows of 128 takes 3.0 ms with 1970 page faults a
call, and 0.44 ms without. A serving process with a caching allocator has no such faults, and neither have we: kernels
and whole models are measured with the same settings.
"""

from __future__ import annotations

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),  # the largest that glibc takes
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**26),
}
"""Read by glibc when a process starts; other allocators ignore it."""
