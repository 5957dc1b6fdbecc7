"""Campaigns on disk: one SQLite file of the workspace, for several processes at once.

Every change is one transaction that takes the write lock first, so that two who claim at once wait for each other,
and a kill at any moment leaves the state before or after a change.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import BaseModel, ValidationError

from profiling.connection import transaction
from server.campaign.database import connect, damaged, verdicts
from server.campaign.state import Campaign, Event, Task
from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from skills.desk import Desk

FILE = "campaigns.db"
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
        self._connection = connect(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """All or nothing."""
        with verdicts(self.path), transaction(self._connection):
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
        with verdicts(self.path):
            rows = self._connection.execute(sql, values).fetchall()
        try:
            return [model.model_validate_json(text) for (text,) in rows]
        except ValidationError as error:
            raise damaged(self.path, f"a {model.__name__.lower()} is not readable") from error
