"""A campaign over small skills of the real names: what they claim is a number that lies in a workspace file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import Field

from server.campaign.loop import Loop
from server.campaign.schema import NextIn, NextOut, StartIn, StartOut, SubmitIn, SubmitOut
from server.campaign.start import start
from server.campaign.submit import submit
from server.campaign.take import take
from server.envelope import Envelope
from server.reports import keep
from server.tool import Tool
from skills.desk import Desk
from skills.report import Criterion, Decision, Option, SkillReport
from skills.request import SkillRequest
from skills.watch import Unwatched, Watch

if TYPE_CHECKING:
    from pathlib import Path


class Wire(SkillRequest):
    """As wire_kernel's, with less in it."""

    kind: str
    mode: str = "check"
    handoff: dict[str, Any]
    shape: dict[str, Any] = Field(default={})
    share: float = 0


class Validate(SkillRequest):
    """As validate_cache's."""

    kind: str
    config: dict[str, Any]
    bar: float = 0.15
    share: float | None = None


class Compose(SkillRequest):
    """As compose_op's."""

    family: str
    name: str


class WireReport(SkillReport):
    """Claims a number of cells."""

    skill: str = "wire_kernel"
    request: Wire
    cells: int = 0
    config_fields: list[str] = Field(default=["hidden_size"])


class ValidateReport(SkillReport):
    """Claims a number of cells, too."""

    skill: str = "validate_cache"
    request: Validate
    cells: int = 0


class ComposeReport(SkillReport):
    """And the third."""

    skill: str = "compose_op"
    request: Compose
    cells: int = 0


def _recheck(report: Any, desk: Desk, _watch: Watch) -> list[Criterion]:  # noqa: ANN401 - any of the three
    seen = desk.readable("cells", what="cells").read_text(encoding="utf-8").strip()
    status = "pass" if seen == str(report.cells) else "fail"
    evidence = f"{seen} cells stand, {report.cells} are claimed"
    return [
        Criterion.model_validate({"id": "recheck", "text": "counted", "status": status, "evidence": evidence})
    ]


def _never(_request: object, _desk: Desk, _watch: Watch) -> WireReport:
    raise AssertionError


MODELS: dict[str, tuple[type[SkillRequest], type[SkillReport]]] = {
    "wire_kernel": (Wire, WireReport),
    "validate_cache": (Validate, ValidateReport),
    "compose_op": (Compose, ComposeReport),
}


def skill_named(name: str) -> Tool:
    """The small skill."""
    takes, gives = MODELS[name]
    return Tool(
        name, name, name, takes=takes, gives=gives, run=_never, place="worker", skill=True, recheck=_recheck
    )


def criterion(name: str, status: str = "pass", evidence: str = "seen") -> Criterion:
    """A criterion in a line."""
    return Criterion.model_validate({"id": name, "text": name, "status": status, "evidence": evidence})


@dataclass
class Shop:
    """An orchestrator and its workers, in one hand."""

    desk: Desk
    now_s: float = 1_800_000_000.0
    handoff_seen: list[Criterion] = field(default_factory=lambda: [criterion("R.1-registry")])
    handoff_asks: list[Decision] = field(default_factory=list)
    campaign: str = ""

    def criterion(self, name: str, status: str = "pass", evidence: str = "seen") -> Criterion:
        """A criterion in a line."""
        return criterion(name, status, evidence)

    @property
    def remedy(self) -> Decision:
        """The question that validate_cache asks about an error."""
        return REMEDY

    @property
    def loop(self) -> Loop:
        """The loop at this moment."""
        return Loop(self.desk, skill_named, lambda: self.now_s, self._call)

    def _call(self, name: str, arguments: dict[str, Any], _desk: Desk) -> Envelope:
        request = {key: value for key, value in arguments.items() if key != "wait_s"}
        report = WireReport(
            summary="hand-off",
            criteria=self.handoff_seen,
            decisions=self.handoff_asks,
            request=Wire(**request),
        )  # type: ignore[call-arg]
        assert name == "wire_kernel"
        return Envelope(ok=True, call_id="c", result=report.model_dump(mode="json"))

    def start(self, **request: Any) -> StartOut:  # noqa: ANN401 - fields of StartIn
        """campaign_start."""
        out = start(self.loop, StartIn(**request))
        self.campaign = out.campaign_id
        return out

    def wire(self, **more: Any) -> StartOut:  # noqa: ANN401 - fields of StartIn
        """The usual campaign: wire and validate one kernel."""
        return self.start(goal="wire_kernel", wire=WIRE, **more)

    def next(self, worker: str = "ann", **more: Any) -> NextOut:  # noqa: ANN401 - fields of NextIn
        """campaign_next."""
        return take(self.loop, NextIn(campaign_id=self.campaign, worker=worker, **more))

    def task(self, worker: str = "ann", **more: Any) -> str:  # noqa: ANN401 - fields of NextIn
        """Id of the task that campaign_next gives."""
        given = self.next(worker, **more).task
        assert given is not None
        return given.task_id

    def submit(self, task_id: str, **handed: Any) -> SubmitOut:  # noqa: ANN401 - fields of SubmitIn
        """campaign_submit."""
        return submit(self.loop, SubmitIn(campaign_id=self.campaign, task_id=task_id, **handed), Unwatched())

    def report(
        self,
        skill: str,
        request: dict[str, Any],
        *criteria: Criterion,
        decisions: list[Decision] | None = None,
        cells: int = 7,
    ) -> dict[str, Any]:
        """A report of a skill, as plain data."""
        takes, gives = MODELS[skill]
        made = gives(
            skill=skill,
            summary=f"{skill} done",
            criteria=list(criteria) or [criterion("R.3-payload")],
            decisions=decisions or [],
            request=takes(**request),
            cells=cells,
        )  # type: ignore[call-arg]
        return made.model_dump(mode="json")

    def keep(self, skill: str, data: dict[str, Any]) -> str:
        """Keep a report as the server does; its id."""
        return keep(self.desk, skill, data).report_id

    def passing(self, task_id: str, **more: Any) -> SubmitOut:  # noqa: ANN401 - arguments of report
        """Hand in a good report of the task."""
        skill, request = REQUESTS[task_id.partition("-")[0]]
        return self.submit(task_id, report_id=self.keep(skill, self.report(skill, request, **more)))

    def status(self) -> dict[str, str]:
        """Status by task, without taking one."""
        from server.campaign.read import campaign_data  # noqa: PLC0415 - only tests that look

        return {each["id"]: each["status"] for each in campaign_data(self.desk, self.campaign)["tasks"]}


WIRE: dict[str, Any] = {
    "kind": "add_norm",
    "handoff": {"args": ["num_tokens"]},
    "shape": {"config": {"hidden_size": 64}},
}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "wire": ("wire_kernel", WIRE),
    "validate": ("validate_cache", {"kind": "add_norm", "config": {"hidden_size": 64, "gpu_name": "cpu"}}),
    "compose": ("compose_op", {"family": "norm", "name": "residual"}),
}
REMEDY = Decision(
    id="remedy",
    question="Which?",
    options=[Option(value="denser_grid", trade_off="rows"), Option(value="accept", trade_off="listed")],
    answer=None,
)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A workspace where seven cells stand."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "cells").write_text("7", encoding="utf-8")
    return Shop(Desk(workspace, tmp_path / "rows.db"))
