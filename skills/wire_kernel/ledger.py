"""What was found so far: criteria by checkpoint, questions, commands, blockers. The first failing stage stops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skills.report import Criterion, Decision, Option, overall
from skills.wire_kernel.rules import STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills.report import Status
    from skills.wire_kernel.schema import Command

MAX_EVIDENCE = 600


@dataclass
class Ledger:
    """Takes notes. `answers` are the user's decisions."""

    answers: Mapping[str, str] = field(default_factory=dict)
    criteria: dict[str, Criterion] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)

    def note(self, rule: str, status: Status, evidence: str) -> None:
        """Judge one criterion, once."""
        text = next(rules[rule] for rules in STAGES.values() if rule in rules)
        self.criteria[rule] = Criterion(id=rule, text=text, status=status, evidence=evidence[:MAX_EVIDENCE])
        if status == "fail":
            self.blockers.append(f"{rule}: {evidence}"[:MAX_EVIDENCE])

    def judge(self, rule: str, faults: list[str], evidence: str) -> None:
        """Fail with the faults, pass with the evidence where there is none."""
        self.note(rule, "fail" if faults else "pass", "; ".join(faults) or evidence)

    def ask(self, rule: str, name: str, question: str, options: dict[str, str]) -> str | None:
        """The user's answer to a question, None while it is open: the criterion waits for it then.

        Args:
            rule: The criterion that depends on it.
            name: Decision id.
            question: For a person.
            options: What each answer brings and costs.
        """
        given = self.answers.get(name)
        answer = given if given in options else None
        choices = [Option(value=value, trade_off=text) for value, text in options.items()]
        self.decisions.append(Decision(id=name, question=question, options=choices, answer=answer))
        if answer is None:
            wrong = f"; {given!r} is none of the options" if given else ""
            self.note(
                rule, "needs_decision", f"{question} Answer decisions.{name}: {', '.join(options)}{wrong}"
            )
        return answer

    @property
    def stopped(self) -> bool:
        """Whether a stage failed or waits for the user."""
        return overall(list(self.criteria.values())) in {"fail", "needs_decision"}

    def completed(self, stages: list[str]) -> list[Criterion]:
        """Every criterion of the stages in order; those that were not reached say why."""
        blamed = next(
            (one.id for one in self.criteria.values() if one.status in {"fail", "needs_decision"}), ""
        )
        return [
            self.criteria.get(rule)
            or Criterion(
                id=rule, text=text, status="unverified", evidence=f"not reached: {blamed or 'not asked for'}"
            )
            for stage in stages
            for rule, text in STAGES[stage].items()
        ]
