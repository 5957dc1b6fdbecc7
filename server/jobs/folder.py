"""A job's folder: what was asked, where it stands, what it said, what came out."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from server.envelope import Fault, Kept
from server.whole_file import plain_json, write_whole
from servingsim.errors import ServingSimError
from servingsim.validation import parse, shown

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk

JOB_ID = re.compile(r"job-\d{8}-[0-9a-f]{6}")
JobStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
ENDED = frozenset({"completed", "failed", "cancelled"})


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Standing(_Record):
    """Where a job stands: `status.json`."""

    status: JobStatus
    t: datetime


class Order(_Record):
    """What was asked for: `args.json`."""

    v: int = 1
    tool: str
    args: dict[str, Any]
    key: str
    """Equal for work that need not be done twice at once."""
    desk: dict[str, Any]
    call_id: str
    t: datetime
    limit_s: float


class Owner(_Record):
    """The process at work: `process.json`."""

    pid: int
    began: str


class Outcome(_Record):
    """What came out: `result.json`."""

    result: dict[str, Any] | None = None
    kept: Kept | None = None
    error: Fault | None = None


class Progress(_Record):
    """One line of `progress.jsonl`."""

    t: datetime
    done: float
    total: float | None
    message: str


@dataclass(frozen=True)
class JobFolder:
    """The files of one job."""

    path: Path

    @property
    def job_id(self) -> str:
        """Name of the job."""
        return self.path.name

    @property
    def log(self) -> Path:
        """What the process and its children printed."""
        return self.path / "worker.log"

    @property
    def cancel_marker(self) -> Path:
        """There where somebody asked for an end."""
        return self.path / "cancel"

    def order(self) -> Order:
        """What was asked for."""
        return parse(Order, self._json("args.json"), where=str(self.path / "args.json"))

    def standing(self) -> Standing:
        """Where it says that it stands; failed where that cannot be read any more."""
        try:
            return parse(Standing, self._json("status.json"), where=str(self.path / "status.json"))
        except ServingSimError:
            return Standing(status="failed", t=datetime.now(UTC))

    def owner(self) -> Owner | None:
        """Whose work it is, None before a process took it."""
        try:
            return parse(Owner, self._json("process.json"), where=str(self.path / "process.json"))
        except ServingSimError:
            return None

    @property
    def has_outcome(self) -> bool:
        """Whether something came out, a fault too."""
        return (self.path / "result.json").is_file()

    def outcome(self) -> Outcome:
        """What came out; a fault where that cannot be read."""
        try:
            return parse(Outcome, self._json("result.json"), where=str(self.path / "result.json"))
        except ServingSimError as error:
            return Outcome(error=Fault(**error.facts()))

    def write(self, name: Literal["args", "status", "process", "result"], record: BaseModel) -> None:
        """Put one of the files in place."""
        write_whole(self.path / f"{name}.json", plain_json(record.model_dump(mode="json"), indent=1) + b"\n")

    def stand(self, status: JobStatus) -> None:
        """Say where it stands now."""
        self.write("status", Standing(status=status, t=datetime.now(UTC)))

    def say(self, progress: Progress) -> None:
        """Add a line of progress."""
        with (self.path / "progress.jsonl").open("ab", buffering=0) as file:
            file.write(plain_json(progress.model_dump(mode="json")) + b"\n")

    def last_progress(self) -> Progress | None:
        """The newest whole line of progress."""
        try:
            with (self.path / "progress.jsonl").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - 8192))
                lines = file.read().split(b"\n")
        except OSError:
            return None
        for line in reversed(lines[:-1]):
            try:
                return Progress.model_validate_json(line)
            except ValueError:
                continue
        return None

    def last_words(self, characters: int = 600) -> str:
        """The end of the log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text[-characters:].strip()

    def _json(self, name: str) -> object:
        try:
            return json.loads((self.path / name).read_bytes())
        except (OSError, ValueError) as error:
            raise ServingSimError(
                f"cannot be read: {error}", code="E_STATE", path=str(self.path / name)
            ) from error


def job_folder(desk: Desk, job_id: str) -> JobFolder:
    """The folder of a job.

    Raises:
        ServingSimError: E_INPUT, another form of id; E_NOT_FOUND.
    """
    if not JOB_ID.fullmatch(job_id):
        raise ServingSimError(
            f"{shown(job_id)} is no job id",
            known="for instance job-20261202-1a2b3c",
            path="job_id",
            hint="job_wait without job_id lists the jobs",
        )
    folder = JobFolder(jobs_path(desk) / job_id)
    if not (folder.path / "status.json").is_file():
        raise ServingSimError(
            f"no job {job_id!r}",
            code="E_NOT_FOUND",
            path="job_id",
            hint="job_wait without job_id lists the jobs",
        )
    return folder


def job_folders(desk: Desk) -> list[JobFolder]:
    """Every job's folder, the newest first."""
    found = [path.parent for path in jobs_path(desk).glob("job-*/status.json")]
    return [JobFolder(path) for path in sorted(found, key=_born, reverse=True)]


def jobs_path(desk: Desk) -> Path:
    """Where jobs lie."""
    return desk.state / "jobs"


def _born(path: Path) -> float:
    try:
        return (path / "args.json").stat().st_mtime
    except OSError:
        return 0.0
