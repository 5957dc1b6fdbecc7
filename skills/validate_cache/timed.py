"""Probes as the report holds them: the simulator's answers beside the truths, missing ones with their reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skills.validate_cache.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skills.validate_cache.asking import Asking

Plain = dict[str, Any]


@dataclass(frozen=True)
class Timed:
    """Where the truths are.

    Attributes:
        db: The database.
        commands: What measured them.
        missing: Why a probe was not measured, by its place.
    """

    db: str
    commands: Sequence[str]
    missing: Mapping[int, str]


def probes_of(asking: Asking, fit: Plain, timed: Timed, compare_cache: str = "") -> list[Probe]:
    """Ask the simulator at every probe and look its truths up."""
    planned: list[Plain] = fit["probes"]
    answers = asking.evaluate(planned)
    truths = asking.truths(planned, timed.db)
    others = asking.evaluate(planned, compare_cache) if compare_cache else [None] * len(planned)
    return [
        _probe(plan, answer, truth, other, timed.missing.get(at, ""))
        for at, (plan, answer, truth, other) in enumerate(zip(planned, answers, truths, others, strict=True))
    ]


def _probe(plan: Plain, answer: Plain, truth: dict[str, Plain], other: Plain | None, missing: str) -> Probe:
    trusted = {name: row["time_ms"] for name, row in truth.items() if not row["outlier"]}
    backend, cache_ms = answer["backend"], answer["cache_ms"]
    truth_ms = trusted.get(backend)
    known = cache_ms is not None and truth_ms is not None
    return Probe(
        region=plan["region"],
        input=plan["input"],
        args=plan["args"],
        coordinates=plan["coordinates"],
        backend=backend,
        cache_ms=cache_ms,
        truth_ms=truth_ms,
        ratio=cache_ms / truth_ms if known else None,
        truths=trusted,
        truth_cv=truth[backend]["cv"] if truth_ms is not None else None,
        flags=answer["flags"],
        missing="" if known else _reason(answer, truth.get(backend), missing),
        compare_ms=other["cache_ms"] if other else None,
    )


def _reason(answer: Plain, row: Plain | None, missing: str) -> str:
    if answer["cache_ms"] is None:
        return "the cache refuses the shape"
    if row is not None:
        return f"cannot be trusted: {row['outlier']}"
    return missing or f"no row of {answer['backend']}"
