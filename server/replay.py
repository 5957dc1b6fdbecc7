"""Replaying logged calls through the same door, against today's schemas and code.

A call is the same (one that measures anew: no verdict turned), different (each field is named), incompatible (its
arguments no longer fit the schema), or refused (it writes, or its inputs are not what they were).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from server.arguments import request_of
from server.calls import call_named, inputs_of
from server.invoke import Caller, invoke
from server.jobs.folder import ENDED
from server.replay_compare import Difference, Held, differences
from server.replay_ids import Renamed
from server.replay_measured import follows_only, rest_on_measurements
from server.reports import load
from server.tool import tool_named
from server.whole_file import plain_json, sha256_of
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.calls import Call
    from server.envelope import Envelope
    from server.tool import Tool
    from skills.desk import Desk
    from skills.watch import Watch

PATIENCE_S = 86400.0
MOVING = "servingsim://jobs"
"""What lies there is another thing every time."""
Verdict = Literal["same", "different", "incompatible", "refused"]


@dataclass(frozen=True)
class Terms:
    """How to replay.

    Attributes:
        check: What has to agree; under `tolerance` only the verdicts of calls that rest on a measurement.
        rtol: Relative tolerance of figures, for `tolerance`.
        yes: Calls that write are replayed too.
        force: Calls whose input files changed are replayed too.
    """

    check: Held = "tolerance"
    rtol: float = 1e-6
    yes: bool = False
    force: bool = False


@dataclass(frozen=True)
class Replayed:
    """How a call went this time."""

    call_id: str
    tool: str
    verdict: Verdict
    why: str = ""
    differences: list[Difference] = field(default_factory=list)
    new_call_id: str = ""


def replay(calls: Sequence[Call], desk: Desk, terms: Terms, watch: Watch) -> Iterator[Replayed]:
    """Replay calls in their order. Ids that they make anew are put in place of the old ones in later calls."""
    patient, renamed = replace(desk, max_wait_s=PATIENCE_S), Renamed()
    later = _later_results(calls)
    for call, measured in zip(calls, rest_on_measurements(calls), strict=True):
        own = replace(terms, check="verdicts") if measured and terms.check == "tolerance" else terms
        yield _refusal(call, patient, own) or _again(call, patient, own, watch, renamed, later)


def _again(
    call: Call, desk: Desk, terms: Terms, watch: Watch, renamed: Renamed, later: dict[str, dict[str, Any]]
) -> Replayed:
    args = renamed.apply(call.args)
    if call.ok and (misfit := _misfit(call.tool, args)):
        return Replayed(call.call_id, call.tool, "incompatible", misfit)
    patient = args | {"wait_s": 50} if "wait_s" in args else args
    envelope = invoke(
        call.tool,
        patient,
        desk,
        caller=Caller("replay", client=call.client, parent=call.call_id),
        watch=watch,
    )
    before, after = _recorded(call) or later.get(call.job_id), _whole(envelope, desk)
    _learn(renamed, call, envelope, before, after)
    return replace(_compared(call, envelope, before, after, terms), new_call_id=envelope.call_id)


def _refusal(call: Call, desk: Desk, terms: Terms) -> Replayed | None:
    """Why a call is not replayed at all."""
    tool = _known(call.tool)
    if tool is not None and tool.writes and call.ok and not terms.yes:
        return Replayed(call.call_id, call.tool, "refused", "it writes; --yes replays it")
    if terms.force or not call.inputs:
        return None
    now = {each.path: each.sha256 for each in inputs_of({"paths": [each.path for each in call.inputs]}, desk)}
    changed = [each.path for each in call.inputs if now.get(each.path) != each.sha256]
    if changed:
        why = f"inputs are not what they were: {', '.join(changed)}; --force replays it"
        return Replayed(call.call_id, call.tool, "refused", why)
    return None


def _misfit(name: str, args: dict[str, Any]) -> str:
    """Why arguments that were accepted once no longer fit; empty where they do."""
    try:
        request_of(tool_named(name), args)
    except ServingSimError as error:
        return str(error)
    return ""


def _compared(
    call: Call, envelope: Envelope, before: dict[str, Any] | None, after: dict[str, Any] | None, terms: Terms
) -> Replayed:
    said = envelope.error.message if envelope.error else "answered now, refused then"
    if not (call.ok and envelope.ok) and terms.check == "verdicts" and follows_only(call):
        return Replayed(call.call_id, call.tool, "same", f"the new measurement led elsewhere: {said}")
    if call.ok != envelope.ok:
        found = [Difference("ok", str(call.ok), str(envelope.ok)), Difference("error", _code(call), said)]
        return Replayed(call.call_id, call.tool, "different", differences=found)
    if not call.ok:
        now = envelope.error.code if envelope.error else ""
        found = [] if now == _code(call) else [Difference("error.code", _code(call), now)]
    elif before is not None and (misfit := _misfits_schema(call.tool, before)):
        found = misfit
    elif _went_on(call, before):
        return Replayed(call.call_id, call.tool, "same", "no result was recorded: it went on as a job")
    elif before is None or after is None:
        return Replayed(call.call_id, call.tool, "same", "no result was recorded")
    else:
        check = "schema" if str(call.args.get("uri", "")).startswith(MOVING) else terms.check
        found = differences(before, after, check, rtol=terms.rtol)
    verdict: Verdict = "different" if found else "same"
    why = "measured anew: no verdict turned" if terms.check == "verdicts" and call.ok and not found else ""
    return Replayed(call.call_id, call.tool, verdict, why, found)


def _misfits_schema(name: str, before: dict[str, Any]) -> list[Difference]:
    """Whether a recorded result is still what the tool says that it gives."""
    try:
        tool_named(name).gives.model_validate(before)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "result"
        return [Difference(where, "fitted the output schema", first["msg"])]
    return []


def _went_on(call: Call, before: dict[str, Any] | None) -> bool:
    job = (before or {}).get("job")
    if isinstance(job, dict) and before is not None and "result" in before:
        return job.get("status") not in ENDED
    return before is None and bool(call.job_id)


def _later_results(calls: Sequence[Call]) -> dict[str, dict[str, Any]]:
    """Results that a job_wait of the same log brought, by job."""
    found = {}
    for call in calls:
        if call.tool == "job_wait" and call.job_id and isinstance((call.result or {}).get("result"), dict):
            found[call.job_id] = (call.result or {})["result"]
    return found


def _recorded(call: Call) -> dict[str, Any] | None:
    """The result as logged, or as its report still holds it."""
    if call.result is not None or not call.report:
        return call.result
    try:
        from pathlib import Path  # noqa: PLC0415 - only for results beyond a line's size

        data = json.loads(Path(call.report).read_bytes())
    except (OSError, ValueError):
        return None
    same = isinstance(data, dict) and sha256_of(plain_json(data)) == call.result_sha
    return data if same else None


def _whole(envelope: Envelope, desk: Desk) -> dict[str, Any] | None:
    """The result as it was before it was made to fit."""
    if envelope.kept is not None:
        return load(desk, envelope.kept.report_id).data
    if not envelope.omitted or envelope.result is None:
        return envelope.result
    return call_named(desk, envelope.call_id).result


def _learn(renamed: Renamed, call: Call, envelope: Envelope, before: object, after: object) -> None:
    renamed.learn(before, after)
    if envelope.job is not None and call.job_id:
        renamed.learn({"job_id": call.job_id}, {"job_id": envelope.job.job_id})
    if envelope.kept is not None and call.report:
        old = call.report.rpartition("/")[2].removesuffix(".json")
        renamed.learn({"report_id": old}, {"report_id": envelope.kept.report_id})


def _code(call: Call) -> str:
    return call.error.code if call.error else ""


def _known(name: str) -> Tool | None:
    try:
        return tool_named(name)
    except ServingSimError:
        return None
