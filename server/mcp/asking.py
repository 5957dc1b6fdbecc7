"""Questions that only the user can answer, asked through the client where it has a form for them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from skills.report import Decision

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from server.envelope import Envelope
    from server.tool import Tool

MAX_ROUNDS = 3
"""Forms for one call; what is open after them goes back with the report."""
_QUESTION = "decisions"


@dataclass(frozen=True)
class Asked:
    """What a call knows of the user's answers so far.

    Attributes:
        answers: By decision id.
        rounds: Forms that were shown.
        call_id: The call whose questions are with the user.
    """

    answers: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    call_id: str = ""

    @classmethod
    def from_state(cls, state: str) -> Self:
        """As it went to the client and came back; the SDK seals it, so it is ours."""
        return cls(**json.loads(state))

    def with_call(self, call_id: str) -> Asked:
        """Once more asked, for that call."""
        return Asked(self.answers, self.rounds + 1, call_id)

    def with_answers(self, answers: dict[str, str]) -> Asked:
        """With more answers."""
        return Asked(self.answers | answers, self.rounds, self.call_id)

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments with the answers merged in; what the caller decided itself stays."""
        decided = given.get("decisions") or {}
        if isinstance(decided, str):
            # Some clients send an object as its text.
            decided = _decoded(decided)
        return given | {"decisions": self.answers | decided} if self.answers else given


def takes_answers(tool: Tool) -> bool:
    """Whether the tool can be called again with answers."""
    return "decisions" in tool.takes.model_fields


def open_questions(envelope: Envelope) -> list[Decision]:
    """Decisions of a result that have no answer yet."""
    try:
        decisions = _DECISIONS.validate_python((envelope.result or {}).get("decisions", []))
    except ValidationError:
        # Another tool's field of that name.
        return []
    return [each for each in decisions if each.answer is None]


def can_ask(context: Context) -> bool:
    """Whether the client shows forms. One that only names elicitation, from before there were modes, does."""
    capabilities = context.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def asks_by_result(context: Context) -> bool:
    """Whether this protocol asks with a result that the client answers by calling again."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def ask_now(context: Context, questions: list[Decision]) -> dict[str, str]:
    """The user's answers, asked while the call is open; empty where the user declines or the client cannot show it."""
    form = _form(questions)
    try:
        result = await context.session.elicit_form(
            form.message, form.requested_schema, related_request_id=context.request_id
        )
    except (MCPError, ValidationError):
        # The report with its open question is worth more than the client's fault.
        return {}
    return _answers(result, questions)


def ask_by_result(asked: Asked, questions: list[Decision]) -> InputRequiredResult:
    """The questions as a result; `asked` comes back with the answers."""
    state = {"answers": asked.answers, "rounds": asked.rounds, "call_id": asked.call_id}
    return InputRequiredResult(
        input_requests={_QUESTION: ElicitRequest(params=_form(questions))}, request_state=json.dumps(state)
    )


def answered(context: Context, questions: list[Decision]) -> dict[str, str]:
    """The answers that this call brings to the questions of a former result."""
    response = (context.input_responses or {}).get(_QUESTION)
    return _answers(response, questions) if isinstance(response, ElicitResult) else {}


_DECISIONS = TypeAdapter(list[Decision])


def _decoded(text: str) -> dict[str, Any]:
    """What a first run has understood already."""
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _form(questions: list[Decision]) -> ElicitRequestFormParams:
    """One flat form: a choice for each question, its trade-offs in the message."""
    fields = {each.id: _field(each) for each in questions}
    return ElicitRequestFormParams(
        message="\n\n".join(map(_text, questions)),
        requested_schema={"type": "object", "properties": fields, "required": list(fields)},
    )


def _field(question: Decision) -> dict[str, Any]:
    choices = [option.value for option in question.options]
    plain = {"type": "string", "title": question.id, "description": question.question}
    return plain | ({"enum": choices} if choices else {})


def _text(question: Decision) -> str:
    options = [f"- {option.value}: {option.trade_off}" for option in question.options]
    return "\n".join([question.question, *options])


def _answers(result: ElicitResult, questions: list[Decision]) -> dict[str, str]:
    if result.action != "accept" or not result.content:
        return {}
    known = {each.id: [option.value for option in each.options] for each in questions}
    return {
        one: answer
        for one, answer in result.content.items()
        if isinstance(answer, str) and one in known and (not known[one] or answer in known[one])
    }
