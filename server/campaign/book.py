"""Campaigns on disk: one SQLite file of the workspace, for several processes at once.

Every change is one transaction that takes the write lock first, so that two who claim at once wait for each other,
and a kill at any moment leaves the state before or after a change.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from server.campaign.state import Campaign, Event, Task
from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from skills.desk import Desk

FILE = "campaigns.db"
APPLICATION_ID = 0x53434D50
"""SQLite's mark of whose file it is: `SCMP`."""
SCHEMA_VERSION = 1
BUSY_TIMEOUT_S = 30.0
TABLES: dict[str, tuple[dict[str, type], tuple[str, ...]]] = {
    "campaigns": ({"id": str, "position": int, "data": str}, ("id",)),
    "tasks": ({"campaign": str, "id": str, "position": int, "data": str}, ("campaign", "id")),
    "events": ({"campaign": str, "position": int, "data": str}, ("campaign", "position")),
}
M = TypeVar("M", bound=BaseModel)


class Book:
    """An open book of campaigns; close it, or use it in `with`.

    Args:
        desk: Its state folder holds the file.
        create: Make the file where there is none.

    Raises:
        ServingSimError: E_NOT_FOUND where there is no file; E_STATE for a damaged, foreign or newer one, which is
            left as it is; E_PATH where it cannot be opened.
    """

    def __init__(self, desk: Desk, *, create: bool = False) -> None:
        self.path = desk.state / FILE
        if not self.path.is_file() and not create:
            raise ServingSimError(
                "no campaign was started in this workspace", code="E_NOT_FOUND", hint="call campaign_start"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _verdicts(self.path):
            self._connection = _open(self.path)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """All or nothing."""
        with _verdicts(self.path), _transaction(self._connection):
            yield

    def campaigns(self) -> list[Campaign]:
        """All, in the order in which they were started."""
        return self._read(Campaign, "SELECT data FROM campaigns ORDER BY position")

    def campaign(self, campaign_id: str) -> Campaign:
        """One campaign.

        Raises:
            ServingSimError: E_NOT_FOUND with the known ids.
        """
        found = self._read(Campaign, "SELECT data FROM campaigns WHERE id = ?", campaign_id)
        if not found:
            known = [each.id for each in self.campaigns()]
            raise ServingSimError(
                f"unknown campaign {campaign_id!r}",
                code="E_NOT_FOUND",
                known=", ".join(known[-20:]),
                hint=did_you_mean(campaign_id, known),
                path="campaign_id",
            )
        return found[0]

    def tasks(self, campaign_id: str) -> list[Task]:
        """Its tasks, in the order in which they are given out."""
        return self._read(Task, "SELECT data FROM tasks WHERE campaign = ? ORDER BY position", campaign_id)

    def events(self, campaign_id: str) -> list[Event]:
        """Its history."""
        return self._read(Event, "SELECT data FROM events WHERE campaign = ? ORDER BY position", campaign_id)

    def put_campaign(self, campaign: Campaign) -> None:
        """Write a campaign, in a change."""
        self._connection.execute(
            "INSERT INTO campaigns (id, position, data) "
            "VALUES (?, (SELECT count(*) FROM campaigns), ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            (campaign.id, campaign.model_dump_json()),
        )

    def put_task(self, campaign_id: str, task: Task) -> None:
        """Write a task, in a change; a new one comes last."""
        self._connection.execute(
            "INSERT INTO tasks (campaign, id, position, data) "
            "VALUES (?1, ?2, (SELECT count(*) FROM tasks WHERE campaign = ?1), ?3) "
            "ON CONFLICT (campaign, id) DO UPDATE SET data = excluded.data",
            (campaign_id, task.id, task.model_dump_json()),
        )

    def put_event(self, campaign_id: str, event: Event) -> None:
        """Append to the history, in a change."""
        self._connection.execute(
            "INSERT INTO events (campaign, position, data) "
            "VALUES (?1, (SELECT count(*) FROM events WHERE campaign = ?1), ?2)",
            (campaign_id, event.model_dump_json()),
        )

    def _read(self, model: type[M], sql: str, *values: str) -> list[M]:
        with _verdicts(self.path):
            rows = self._connection.execute(sql, values).fetchall()
        try:
            return [model.model_validate_json(text) for (text,) in rows]
        except ValidationError as error:
            raise _damaged(self.path, f"a {model.__name__.lower()} is not readable") from error

    def _prepare(self) -> None:
        if self._pragma("application_id") != APPLICATION_ID:
            with _transaction(self._connection):
                self._found()
        if self._pragma("user_version") > SCHEMA_VERSION:
            raise ServingSimError(
                "was written by a newer version",
                code="E_STATE",
                path=str(self.path),
                hint="upgrade servingsim",
            )
        self._connection.execute("PRAGMA journal_mode=WAL")

    def _found(self) -> None:
        """Make the tables, unless another process just did."""
        if self._pragma("application_id") == APPLICATION_ID:
            return
        if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise ServingSimError(
                "is a database of another program",
                code="E_STATE",
                path=str(self.path),
                hint="move it away, or use another workspace",
            )
        self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        for statement in _create_statements():
            self._connection.execute(statement)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _create_statements() -> list[str]:
    import sqlite_utils  # noqa: PLC0415 - slow to import, and only the first campaign of a workspace needs it

    plan = sqlite_utils.Database(memory=True)
    try:
        return [str(plan.create_table_sql(name, columns, pk=key)) for name, (columns, key) in TABLES.items()]
    finally:
        plan.conn.close()


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _verdicts(path: Path) -> Iterator[None]:
    """SQLite's verdicts as the project's error."""
    try:
        yield
    except sqlite3.OperationalError as error:
        locked = "locked" in str(error)
        raise ServingSimError(
            f"cannot be used: {error}",
            code="E_STATE" if locked else "E_PATH",
            path=str(path),
            hint="call again when the other process has ended" if locked else "make the workspace writable",
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> ServingSimError:
    return ServingSimError(
        f"is damaged: {why}",
        code="E_STATE",
        path=str(path),
        hint="restore a copy, or move the file away and start the campaign again; kept reports stay",
    )


def as_text(data: Any) -> str:  # noqa: ANN401 - plain data
    """Plain data as one line that compares equal where the data does."""
    return json.dumps(data, sort_keys=True, ensure_ascii=True)
