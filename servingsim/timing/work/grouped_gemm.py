"""`grouped_gemm`: `num_groups` independent GEMMs of one (n, k), `m` rows in total spread evenly over the groups."""

from __future__ import annotations

import numpy as np

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(*, m: Number, num_groups: Number, n: Number, k: Number, dtype: str) -> Work:
    """2·m·n·k FLOPs; a group without rows reads no weight, so at most `m` weights are read."""
    m, num_groups, n, k = as_number(m), as_number(num_groups), as_number(n), as_number(k)
    width = dtype_bytes(dtype)
    active = np.minimum(m, num_groups)
    return Work(2 * m * n * k, (m * k + active * n * k) * width, m * n * max(width, 2.0))
