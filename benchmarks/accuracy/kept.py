"""Where measured claims are kept: each area, the flat figures, and the file that the pages come from."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from benchmarks.accuracy.contract import Claim, ValidatedRecord
from profiling.cpu_facts import model_name
from server.reference.accuracy_claims import ACCURACY, AccuracyFigures, KeptArea, KeptClaim
from server.reference.accuracy_files import accuracy_files
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

ROOMS = ("servingsim", "profiling", "benchmarks", "server")
"""What a figure may depend on: areas align and compare through the doors' own functions."""
SHOWING = ("server/commands", "server/reference")
"""Of those, what only shows a figure."""
MAX_NAMED = 12
"""Row sets that a page names; more are told as a number with their digest."""


class Area(BaseModel):
    """The claims of one file, and the code that they were measured with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    code: str
    measured_on: date
    cpu: str
    claims: tuple[Claim, ...]

    @classmethod
    def of(cls, name: str, code: str, claims: Iterable[Claim]) -> Area:
        """Measured now, on this machine."""
        today = datetime.now(UTC).date()
        return cls(name=name, code=code, measured_on=today, cpu=model_name(), claims=tuple(claims))


def fingerprint(root: Path) -> str:
    """Digest of all code that a figure may depend on; the generated record of errors is none of it."""
    digest = hashlib.blake2b(digest_size=12)
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            place = path.relative_to(root)
            shows = place.name == "validated.json" or place.as_posix().startswith(SHOWING)
            if path.suffix in {".py", ".json"} and not shows:
                digest.update(str(place).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def kept(root: Path, name: str) -> Path:
    """The file of an area."""
    return root / "build" / "accuracy" / f"{name}.json"


def read(path: Path) -> Area | None:
    """An area that was kept; None where there is none, or one of another form."""
    try:
        return Area.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def keep(root: Path, area: Area) -> None:
    """Keep an area as soon as it is measured."""
    _replace(kept(root, area.name), area.model_dump_json(indent=1) + "\n")


def write_figures(root: Path, known: Iterable[str]) -> None:
    """Write build/accuracy.json: flat, figure to value, of every area that was ever measured in this checkout.

    Raises:
        ServingSimError: E_STATE, two claims with one name, or a figure of two claims.
    """
    areas = [area for area in (read(kept(root, name)) for name in known) if area is not None]
    claims = [claim for area in areas for claim in area.claims]
    _refuse_twice(claims)
    figures = {name: value for claim in claims for name, value in claim.figures.items()}
    path = root / "build" / "accuracy.json"
    _replace(path, json.dumps(dict(sorted(figures.items())), indent=1) + "\n")


def write_pages(root: Path, areas: Iterable[Area], known: Iterable[str]) -> list[Path]:
    """Put the areas into docs/figures/accuracy.json and renew what comes from it.

    Areas that did not run stay as they were measured last, those whose file is gone do not.

    Returns:
        The files that changed.

    Raises:
        ServingSimError: E_STATE, a name is there twice, or the README has no place for the table; nothing is written.
    """
    place = root / ACCURACY
    before: Mapping[str, KeptArea] = {}
    if place.is_file():
        before = parse(AccuracyFigures, json.loads(place.read_text("utf-8")), where=str(ACCURACY)).areas
    new = {
        area.name: KeptArea(measured_on=area.measured_on, cpu=area.cpu, claims=_short(area)) for area in areas
    }
    stay = {name: area for name, area in before.items() if name in set(known)}
    figures = AccuracyFigures(areas=dict(sorted((stay | new).items())))
    _refuse_twice([claim for area in figures.areas.values() for claim in area.claims])
    # Unsorted: figures stay in the order of their claim, and what is read again gives the same page.
    text = json.dumps(figures.model_dump(mode="json"), indent=1) + "\n"
    files = {ACCURACY: text, **accuracy_files(root, figures)}
    stale = [path for path, new_text in files.items() if _text(root / path) != new_text]
    for path in stale:
        _replace(root / path, files[path])
    return stale


def _short(area: Area) -> tuple[KeptClaim, ...]:
    return tuple(
        KeptClaim(
            **claim.model_dump(mode="json", exclude={"fitted_on", "judged_on", "records"}),
            fitted_on=_named(claim.fitted_on),
            judged_on=_named(claim.judged_on),
            records=tuple(_record(each.model_dump(mode="json")) for each in claim.records),
        )
        for claim in area.claims
    )


def _record(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 3) if name.endswith("_percent") and value is not None else value
        for name, value in told.items()
    }


def _named(keys: frozenset[str]) -> tuple[str, ...]:
    """Names as they are; many keys of one table as their number and digest."""
    shown: list[str] = []
    for name, each in groupby(sorted(keys), lambda key: key.split("/")[0]):
        of_table = list(each)
        digest = hashlib.blake2b("\n".join(of_table).encode(), digest_size=6).hexdigest()
        shown += (
            of_table if len(of_table) <= MAX_NAMED else [f"{name}: {len(of_table):,} keys, digest {digest}"]
        )
    return tuple(shown)


def _refuse_twice(claims: Sequence[Claim | KeptClaim]) -> None:
    """Names of claims, figures and records are found again by what reads them: a second one would hide the first."""
    _once("claim", [claim.id for claim in claims])
    _once("figure", [name for claim in claims for name in claim.figures])
    records = [record for claim in claims for record in claim.records]
    _once("record", [each.id if isinstance(each, ValidatedRecord) else str(each["id"]) for each in records])


def _once(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ServingSimError(
            f"{what} {', '.join(twice[:3])} is there twice",
            code="E_STATE",
            hint="names are unique among all areas; where one moved, measure the area that it left again",
        )


def _text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _replace(path: Path, text: str) -> None:
    """A reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(text, "utf-8")
    part.replace(path)
