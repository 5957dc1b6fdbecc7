"""What only the user can decide is asked through the client, and asked in the report where the client cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitRequestFormParams, ElicitResult, ErrorData

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext
    from mcp_types import ElicitRequestParams

    from server.mcp.serving_server import ServingServer
    from tests.mcp.conftest import Heard, Seen

pytestmark = pytest.mark.anyio


class User:
    """Answers the forms, each with the next of some answers."""

    def __init__(self, *answers: ElicitResult | ErrorData) -> None:
        self._answers = list(answers)
        self.forms: list[ElicitRequestFormParams] = []

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        await anyio.lowlevel.checkpoint()
        assert context.session is not None
        assert isinstance(params, ElicitRequestFormParams)
        self.forms.append(params)
        return self._answers.pop(0)


def accept(**content: str) -> ElicitResult:
    return ElicitResult(action="accept", content=dict(content))


async def decided(
    server: ServingServer, era: str, user: User | None, arguments: dict[str, Any]
) -> dict[str, Any]:
    """The report that came out of it."""
    async with Client(server, mode=era, elicitation_callback=user) as client:
        result = await client.call_tool("probe_decide", arguments)
    assert result.structured_content is not None
    report: dict[str, Any] = result.structured_content["result"]
    return report


async def test_the_users_answer_is_merged_into_the_call(server: ServingServer, era: str) -> None:
    user = User(accept(cache="direct"))
    report = await decided(server, era, user, {})
    assert report["status"] == "pass"
    assert report["request"]["decisions"] == {"cache": "direct"}
    (form,) = user.forms
    assert "which cache?" in form.message
    assert "- linear: fast" in form.message
    assert form.requested_schema["properties"]["cache"]["enum"] == ["linear", "direct"]


async def test_a_second_question_is_asked_after_the_first(server: ServingServer, era: str) -> None:
    user = User(accept(cache="direct"), accept(mask="linear"))
    report = await decided(server, era, user, {"questions": 2})
    assert report["request"]["decisions"] == {"cache": "direct", "mask": "linear"}
    assert len(user.forms) == 2


async def test_what_the_caller_decided_is_not_asked(server: ServingServer, era: str) -> None:
    user = User()
    report = await decided(server, era, user, {"decisions": {"cache": "linear"}})
    assert report["status"] == "pass"
    assert not user.forms


async def test_decisions_that_came_as_text_are_kept_beside_the_users(server: ServingServer, era: str) -> None:
    """Some clients send an object as its text; the user would be asked again and again."""
    user = User(accept(mask="direct"))
    report = await decided(server, era, user, {"questions": 2, "decisions": '{"cache": "linear"}'})
    assert report["request"]["decisions"] == {"cache": "linear", "mask": "direct"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_declines_leaves_the_question_open_and_the_work_done_once(
    server: ServingServer,
    era: str,
    action: Any,  # noqa: ANN401 - one of the protocol's literals
    seen: Seen,
) -> None:
    """A validation that took minutes must not run again for a user who said no."""
    report = await decided(server, era, User(ElicitResult(action=action)), {})
    assert report["status"] == "needs_decision"
    assert seen.decide_runs == 1


async def test_an_answer_that_was_no_option_counts_as_none(server: ServingServer, era: str) -> None:
    """A client that does not check its form would decide for a value that nobody offered."""
    report = await decided(server, era, User(accept(cache="quadratic")), {})
    assert report["status"] == "needs_decision"


async def test_a_client_without_forms_gets_the_question_in_the_report(
    server: ServingServer, era: str
) -> None:
    report = await decided(server, era, None, {})
    assert report["status"] == "needs_decision"
    assert report["decisions"][0]["id"] == "cache"


async def test_a_client_that_fails_to_show_the_form_still_gets_the_report(server: ServingServer) -> None:
    """The work is done by then; a protocol fault in its place would throw it away."""
    broken = User(ErrorData(code=-32603, message="no window"))
    report = await decided(server, "legacy", broken, {})
    assert report["status"] == "needs_decision"


async def test_progress_rises_across_the_users_answer(server: ServingServer, heard: Heard) -> None:
    """The second run of a call counts from the start again; the protocol wants one rising series."""
    async with Client(server, mode="legacy", elicitation_callback=User(accept(cache="direct"))) as client:
        await client.call_tool("probe_decide", {}, progress_callback=heard)
    assert [progress for progress, _, _ in heard.reports] == [1, 2]
