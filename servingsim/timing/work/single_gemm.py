"""`single_gemm`: x[m, k] times the transposed weight w[n, k], result [m, n]."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(*, m: Number, n: Number, k: Number, dtype: str) -> Work:
    """2·m·n·k FLOPs; reads both operands once, writes the result in 16 bits where the operands are narrower."""
    m, n, k = as_number(m), as_number(n), as_number(k)
    width = dtype_bytes(dtype)
    return Work(2 * m * n * k, (m * k + n * k) * width, m * n * max(width, 2.0))
