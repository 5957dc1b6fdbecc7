"""Which validated errors an answer rests on: its kernels' rows, its iterations, its serving, each with its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.validated.record import ANY, ValidatedRecord, ValidatedScope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ValidatedPart(BaseModel):
    """A part of an answer, and the errors that were measured for such parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str = Field(description="kernel kind; `iteration` and `serving` for the whole")
    device: str = Field(description="device key of the rows")
    stack: str = Field(description="framework of the rows, or the serving stack")
    version: str = Field(description="its version, or empty")
    share: float = Field(description="of the kernels' time, 0 to 1; 1 for the whole")
    records: list[ValidatedRecord] = Field(
        description="measured errors that hold for it; empty: not validated"
    )


@dataclass(frozen=True)
class Subject:
    """What is looked up. `stacks` are the names that it goes by: the framework of rows, their backend."""

    kind: str
    device: str
    stacks: tuple[str, ...]
    version: str = ""
    model: str = ""
    dtype: str = ""

    def part(self, share: float, records: Iterable[ValidatedRecord]) -> ValidatedPart:
        """The subject with the records that hold for it."""
        return ValidatedPart(
            kind=self.kind,
            device=self.device,
            stack=self.stacks[0] if self.stacks else "",
            version=self.version,
            share=share,
            records=[record for record in records if holds(record.scope, self)],
        )


def parts_of(
    shares: Iterable[tuple[Subject, float]], records: Sequence[ValidatedRecord]
) -> list[ValidatedPart]:
    """Equal subjects once, their shares added, the largest first."""
    total: dict[Subject, float] = {}
    for subject, share in shares:
        total[subject] = total.get(subject, 0.0) + share
    largest = sorted(total.items(), key=lambda item: (-item[1], item[0].kind))
    return [subject.part(share, records) for subject, share in largest]


def holds(scope: ValidatedScope, subject: Subject) -> bool:
    """Whether a record's scope has the subject in it; where the subject's version is unknown, that of any version."""
    return (
        subject.kind in scope.kinds
        and _has(scope.devices, subject.device)
        and any(_has(scope.stacks, name) for name in subject.stacks or ("",))
        and (not subject.version or _has(scope.versions, subject.version))
        and _has(scope.models, subject.model)
        and _has(scope.dtypes, subject.dtype)
    )


def _has(named: tuple[str, ...], value: str) -> bool:
    return ANY in named or value in named
