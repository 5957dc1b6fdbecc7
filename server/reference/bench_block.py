"""The benchmarks' figures for the README. A figure that was not measured is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.reference.markdown import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

SPLITS = {
    "gemm_m_held_out": "GEMM: 16 powers of two of m known, the other 58 values asked",
    "gemm_m_held_out_loglog": "the same points, log-log interpolation",
    "gemm_m_held_out_own_grid": "GEMM: the values of m of our own grid known",
    "gemm_shape_held_out": "GEMM: each (n, k) in turn without rows",
    "gemm_every_other_shape_held_out": "GEMM: every other n and k without rows",
    "context_attention_held_out": "prefill attention: every other value of each axis known",
    "context_attention_held_out_loglog": "the same points, log-log interpolation",
    "decode_attention_held_out": "decode attention: every other value of each axis known",
    "decode_attention_held_out_loglog": "the same points, log-log interpolation",
}
"""Prefix of a split's figures, and what it is."""

SPEEDS = {
    "leaf_evals_per_s_python_one": "leaf evaluations a second, one at a time from Python",
    "leaf_evals_per_s_compiled_one": "leaf evaluations a second, one at a time in compiled code",
    "leaf_evals_per_s_vectorised": "leaf evaluations a second, a million at once",
}


def bench_block(figures: Mapping[str, float], cpu: str, day: date) -> str:
    """Errors on held-out rows, and speed."""
    errors = table(
        ("held-out rows of H100, vLLM 0.24.0, bf16", "points", "MAPE", "median", "p95", "largest"),
        list(_errors(figures)),
        numbers=range(1, 6),
    )
    speeds = table(
        (f"speed on one core of {cpu}", ""),
        [(text, _rounded(figures[name])) for name, text in SPEEDS.items() if name in figures],
        numbers=[1],
    )
    head = f"One run of `make bench`, {day.isoformat()}."
    below = figures.get("gemm_below_physical_limit")
    limit = (
        "" if below is None else f"{below:.0f} of the GEMM predictions lie below the device's physical limit."
    )
    return "\n\n".join(filter(None, [head, errors, limit, speeds]))


def _errors(figures: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    for prefix, text in SPLITS.items():
        names = [f"{prefix}_{name}_percent" for name in ("mape", "p50", "p95", "max")]
        if all(name in figures for name in names):
            points = figures.get(f"{prefix}_points")
            shown = "" if points is None else f"{points:,.0f}"
            yield (text, shown, *(f"{figures[name]:.1f} %" for name in names))


def _rounded(value: float) -> str:
    """Three digits: the rest changes with every run."""
    return f"{float(f'{value:.3g}'):,.0f}"
