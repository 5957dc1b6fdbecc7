"""The demonstration's tables for the README, from one report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.demo.view import WANTED
from server.reference.markdown import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from server.demo.report import CaseResult, DemoReport


def demo_block(report: DemoReport, day: date) -> str:
    """Predicted beside measured steps, and the caches at unseen shapes."""
    versions = ", ".join(f"{name} {number}" for name, number in report.libraries.items())
    head = (
        f"One run, {len(report.cases[0].rounds)} rounds, on {report.device}, {day.isoformat()}: {report.model}, random "
        f"weights, {versions}. Predicted is the sum of measured kernels and the host's part, "
        f"{report.cases[0].host_ms:.1f} ms ({report.host.how})."
    )
    steps = table(
        ("step", "predicted ms", "measured ms", "error", "error of each round", "measured spread"),
        [_step(case) for case in report.cases],
        numbers=range(1, 6),
    )
    probes = table(
        ("kernel", "probes", "median ratio", "within 15 %", "worst ratio"),
        [
            (
                each.kind,
                str(each.probes),
                f"{each.median_ratio:.3f}",
                f"{each.within_15_percent:.0%}",
                f"{each.worst_ratio:.2f}",
            )
            for each in report.checks
        ],
        numbers=range(1, 5),
    )
    unseen = "The caches at shapes that they were not fitted on (cache / measured):"
    return "\n\n".join([head, steps, "\n".join(_remarks(report)), unseen, probes])


def gpu_block(report: DemoReport) -> str:
    """A large model at every tensor-parallel degree."""
    head = (
        f"{report.gpu_model} on one to eight H100: {report.gpu_source}. Nothing here was measured end to end."
    )
    rows = table(
        ("step", "tp", "predicted ms", "lower bound ms", "on measured rows", "KV tokens", "flags"),
        [
            (
                row.label,
                str(row.tp),
                f"{row.iteration_ms:.2f}",
                "" if row.bound_ms is None else f"{row.bound_ms:.2f}",
                f"{row.covered_share:.0%}",
                f"{row.kv_capacity_tokens:,}",
                " ".join(row.coverage),
            )
            for row in report.gpu
        ],
        numbers=range(1, 6),
    )
    return "\n\n".join([head, rows] if report.gpu else [head])


def _step(case: CaseResult) -> tuple[str, ...]:
    return (
        case.label,
        f"{case.predicted_ms:.1f}",
        f"{case.measured_ms:.1f}",
        f"{case.error:+.1%}",
        " ".join(f"{each.error:+.0%}" for each in case.rounds),
        f"{case.measured_spread:.1%}",
    )


def _remarks(report: DemoReport) -> Iterator[str]:
    missed = [case for case in report.cases if abs(case.error) > WANTED]
    yield (
        f"Error is predicted / measured - 1; {len(report.cases) - len(missed)} of {len(report.cases)} steps lie "
        f"within {WANTED:.0%}."
    )
    for case in missed:
        disturbed = next((each.disturbed for each in case.rounds if each.disturbed), "")
        why = f"a round was disturbed: {disturbed}" if disturbed else "no round was disturbed"
        yield f"{case.label} misses it by {abs(case.error) - WANTED:.1%}; {why}."
