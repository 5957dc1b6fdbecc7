"""Where the time of each phase goes: shares of a split's rows, gathered by the nature of what they launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills.split_model.row_work import cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skills.split_model.schema import Row, SplitReport

MEASURED = "measured"
NATURES = {
    "attention": ("attention_", "chunked_attention", "wide_value_attention", "mla_", "sparse_"),
    "experts": ("fused_moe", "topk_routing"),
    "recurrence": ("gated_delta", "mamba2"),
    "linear": ("single_gemm", "grouped_gemm"),
    "norm": ("rms_norm", "fused_add_rms_norm", "layer_norm"),
    "communication": ("all_reduce", "all_gather", "reduce_scatter", "moe_dispatch", "moe_combine", "p2p"),
    "elementwise": ("elementwise",),
}
"""Nature of a launch by how its kind's name begins; the order is that of the legend."""
OTHER = "other"
PLUMBING, UNPLACED = "plumbing", "unplaced"
"""Captured kernels that are in no row: with a reason, or without."""
LEGEND = (*NATURES, OTHER, PLUMBING, UNPLACED)


@dataclass(frozen=True)
class Bar:
    """One phase as parts of a whole.

    Attributes:
        title: The phase, or `measured`.
        basis: What the shares are.
        parts: Nature and share, in the order of the legend; they add up to 1.
        largest: The rows with the largest shares, with theirs.
    """

    title: str
    basis: str
    parts: tuple[tuple[str, float], ...]
    largest: tuple[tuple[str, float], ...]


def nature(row: Row) -> str:
    """What kind of work a row is."""
    kind = row.maps_to.kind
    return next((name for name, begins in NATURES.items() if kind.startswith(begins)), OTHER)


def bars(report: SplitReport) -> list[Bar]:
    """A bar of what was measured where there is a capture, then one of the estimate for each phase."""
    found = []
    if any(row.measured_ns for row in report.rows):
        found.append(_measured(report))
    for label in dict.fromkeys(label for row in report.rows for label in row.work):
        costs = [(row, row.repeat * _cost(row, label)) for row in report.rows]
        found.append(_bar(label, "estimate by roofline, no measurement", costs))
    return found


def _measured(report: SplitReport) -> Bar:
    """All of the capture's kernels: those of rows by nature, and the rest."""
    rest = {
        PLUMBING: sum(each.ns for each in report.plumbing),
        UNPLACED: sum(each.ns for each in report.unplaced),
    }
    costs = [(row, float(row.measured_ns or 0)) for row in report.rows]
    return _bar(MEASURED, "share of the captured kernels' time", costs, rest)


def _cost(row: Row, label: str) -> float:
    work = row.work.get(label)
    return cost(work) if work else 0.0


def _bar(
    title: str, basis: str, costs: Iterable[tuple[Row, float]], rest: Mapping[str, float] | None = None
) -> Bar:
    """Costs, and what lies in no row, as parts of their sum."""
    weighed = [(row, weight) for row, weight in costs if weight > 0]
    by_nature = dict.fromkeys(LEGEND, 0.0) | dict(rest or {})
    for row, weight in weighed:
        by_nature[nature(row)] += weight
    whole = sum(by_nature.values()) or 1.0
    largest = sorted(weighed, key=lambda each: -each[1])[:3]
    return Bar(
        title,
        basis,
        tuple((name, weight / whole) for name, weight in by_nature.items() if weight),
        tuple((f"{row.layer_class}: {row.op}", weight / whole) for row, weight in largest),
    )
