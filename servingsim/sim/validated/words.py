"""Validated parts in a sentence, and what would validate the rest."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from servingsim.sim.validated.record import ITERATION, SERVING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from servingsim.sim.validated.match import ValidatedPart

NOT_VALIDATED = "not validated"
WHOLE = {ITERATION, SERVING}
KERNELS_COMMAND = (
    "`servingsim fidelity --db ROWS.db` holds rows of these kinds out and says how far off they are read"
)
WHOLE_COMMAND = (
    "`servingsim align` compares with measured iterations or requests of this model, stack and device; "
    "`make demo` does it for a small model on the machine at hand"
)


def said(parts: Sequence[ValidatedPart]) -> str:
    """The records that an answer rests on, `not validated` where there is none at all."""
    if not any(part.records for part in parts):
        return NOT_VALIDATED
    return "; ".join(_each(parts))


def how_to_validate(parts: Sequence[ValidatedPart]) -> str:
    """The commands that would validate what is not; empty where everything is."""
    unknown = [part for part in parts if not part.records]
    kinds = list(dict.fromkeys(part.kind for part in unknown if part.kind not in WHOLE))
    found = [f"{', '.join(kinds)}: {KERNELS_COMMAND}"] if kinds else []
    whole = [part.kind for part in unknown if part.kind in WHOLE]
    return "; ".join([*found, *(f"{kind}: {WHOLE_COMMAND}" for kind in whole)])


def _each(parts: Sequence[ValidatedPart]) -> Iterable[str]:
    for part in parts:
        if part.records:
            yield f"{_what(part)}: {', '.join(_figures(part))}"
    unknown = [part for part in parts if not part.records]
    if unknown:
        names = ", ".join(dict.fromkeys(_short(part) for part in unknown))
        yield f"{NOT_VALIDATED}: {names}"


def _figures(part: ValidatedPart) -> Iterable[str]:
    """Figures of one metric together, the metric named unless it is time, the version where the part has none."""
    ordered = sorted(part.records, key=lambda record: (record.metric, record.mape_percent))
    for metric, same in groupby(ordered, key=lambda record: record.metric):
        name = "" if "time" in metric else f"{metric} "
        for record in same:
            told = (
                [record.claim] if part.version else [record.claim, f"of {', '.join(record.scope.versions)}"]
            )
            yield f"{name}{record.mape_percent:.2g} % on {record.points:,} held-out points ({', '.join(told)})"


def _what(part: ValidatedPart) -> str:
    stack = f"{part.stack} {part.version}".strip()
    return f"{_short(part)} on {part.device}" + (f", {stack}" if stack else "")


def _short(part: ValidatedPart) -> str:
    return {ITERATION: "whole iterations", SERVING: "served workloads"}.get(part.kind, part.kind)
