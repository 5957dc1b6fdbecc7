"""What is kept of a sweep while it runs: a manifest, and beside it a line an outcome, so that it can go on later."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from servingsim import __version__
from servingsim.errors import ServingSimError
from servingsim.sim.sweep.outcome import Outcome
from servingsim.sim.sweep.spec import SweepSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANIFEST, OUTCOMES = "manifest.json", "outcomes.jsonl"


class Manifest(BaseModel):
    """What the outcomes beside it are of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    servingsim: str
    identity: str
    begun: datetime
    spec: SweepSpec


@dataclass(frozen=True)
class Record:
    """A folder of a sweep."""

    folder: Path

    @classmethod
    def at(cls, folder: Path, spec: SweepSpec, identity: str) -> Self:
        """Begin in a folder, or go on in one that holds a sweep; its outcomes of equal points are used again.

        Raises:
            ServingSimError: The folder holds other files but no sweep, or cannot be written.
        """
        record = cls(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not record.manifest.exists() and any(folder.iterdir()):
                raise ServingSimError(
                    "the folder holds other files and no sweep",
                    hint="choose an empty one",
                    code="E_PATH",
                    path=str(folder),
                )
            text = Manifest(servingsim=__version__, identity=identity, begun=datetime.now(UTC), spec=spec)
            beside = record.manifest.with_suffix(".new")
            beside.write_text(text.model_dump_json(indent=1) + "\n", encoding="utf-8")
            beside.replace(record.manifest)
            record.close_last_line()
        except OSError as error:
            raise _unwritable(folder, error) from error
        return record

    @property
    def manifest(self) -> Path:
        """The manifest's file."""
        return self.folder / MANIFEST

    @property
    def file(self) -> Path:
        """The outcomes' file."""
        return self.folder / OUTCOMES

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome; the system has it when this returns.

        Raises:
            ServingSimError: The disk is full, or the folder is gone.
        """
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(outcome.model_dump_json() + "\n")
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def outcomes(self) -> dict[str, Outcome]:
        """Every outcome by its point's key.

        Raises:
            ServingSimError: A line that is none, unless it is the last one, cut when a run was killed.
        """
        found: dict[str, Outcome] = {}
        cut: tuple[int, str] | None = None
        for number, line in self._lines():
            if cut is not None:
                raise ServingSimError(
                    f"line {cut[0]} is no outcome: {cut[1]}",
                    hint="delete the line: its point runs again",
                    path=str(self.file),
                )
            try:
                outcome = Outcome.model_validate_json(line)
            except ValidationError as error:
                cut = number, str(error.errors()[0]["msg"])
                continue
            found[outcome.key] = outcome
        return found

    def close_last_line(self) -> None:
        """Drop the end of a line that was cut, so that the next one begins on its own."""
        if not self.file.exists():
            return
        content = self.file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self.file.write_bytes(whole)

    def _lines(self) -> Iterator[tuple[int, str]]:
        if not self.file.exists():
            return
        with self.file.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a sweep's folder.

    Raises:
        ServingSimError: There is none, or one of another version.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ServingSimError(
            f"no sweep here: {error.strerror}", code="E_NOT_FOUND", path=str(path)
        ) from error
    except ValueError as error:
        raise ServingSimError(f"no manifest that this version reads: {error}", path=str(path)) from error


def _unwritable(folder: Path, error: OSError) -> ServingSimError:
    return ServingSimError(
        f"cannot be written: {error.strerror}",
        code="E_PATH",
        path=str(folder),
        hint="the outcomes that are there are used again",
    )
