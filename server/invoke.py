"""Calling a tool: the one way in, whoever calls. Every call is answered by an envelope and logged."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from server.arguments import request_of, result_of
from server.budget import FULL_BYTES, SUMMARY_BYTES, fit, size_of
from server.calls import (
    MAX_RESULT_BYTES,
    Call,
    Origin,
    append,
    inputs_of,
    new_call_id,
    schema_sha,
    versions,
)
from server.envelope import Envelope, Fault, JobState, Kept
from server.tool import Tool, tool_named
from server.whole_file import plain_json, sha256_of
from servingsim.errors import ServingSimError
from skills.watch import Unwatched

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.request import Request
    from skills.watch import Watch

RETRYABLE = frozenset({"E_TIMEOUT", "E_CANCELLED"})
MAX_MESSAGE = 2000


@dataclass(frozen=True)
class Caller:
    """Who calls.

    Attributes:
        origin: Which door.
        client: Program at the other end, as it names itself.
        parent: Call that this one belongs to.
    """

    origin: Origin
    client: str = ""
    parent: str = ""


@dataclass
class _Progress:
    """What is known of a call so far, for its answer and its line in the log."""

    call_id: str
    name: str
    arguments: Any
    began: datetime
    began_s: float
    tool: Tool | None = None
    request: Request | None = None
    data: dict[str, Any] | None = None
    kept: Kept | None = None
    job: JobState | None = None
    fault: Fault | None = None
    warnings: list[str] = field(default_factory=list)


def invoke(
    name: str, arguments: object, desk: Desk, *, caller: Caller, watch: Watch | None = None
) -> Envelope:
    """Call a tool and wait for its answer, or for as long as the request says where it runs as a job.

    Args:
        name: The tool.
        arguments: Plain data, typically decoded JSON.
        desk: Where it works.
        caller: Who calls, for the log.
        watch: Told of progress; where its `check` raises, the wait ends and a job goes on.
    """
    call = _Progress(new_call_id(), name, arguments, datetime.now(UTC), time.monotonic())
    try:
        call.tool = tool_named(name)
        call.request = request_of(call.tool, arguments)
        _allow(call.tool, desk)
        if call.tool.place == "worker":
            _as_job(call, call.tool, call.request, desk, watch or Unwatched())
        else:
            _here(call, call.tool, call.request, desk, watch or Unwatched())
    except ServingSimError as error:
        call.fault = fault_of(error)
    except Exception as error:  # noqa: BLE001 - the door: whatever a tool raises is an answer
        call.fault = internal_fault(error)
    except BaseException:
        call.fault = Fault(code="E_CANCELLED", message="the caller was interrupted", retryable=True)
        _log(call, desk, caller)
        raise
    _log(call, desk, caller)
    return _answer(call)


def fault_of(error: ServingSimError) -> Fault:
    """A refusal as data."""
    facts = error.facts()
    return Fault(
        code=facts["code"],
        message=_bounded(facts["message"]),
        known=_bounded(facts["known"]),
        hint=_bounded(facts["hint"]),
        path=facts["path"],
        retryable=error.code in RETRYABLE,
    )


def internal_fault(error: BaseException, *, log: str = "") -> Fault:
    """A defect as data: its first lines, and where the rest lies."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    lines = str(error).splitlines()[:20]
    return Fault(
        code="E_INTERNAL",
        message=_bounded(f"{type(error).__name__}{where}: " + "\n".join(lines)),
        hint="report it as a defect, with the call's line of the log",
        path=log,
        retryable=False,
    )


def _allow(tool: Tool, desk: Desk) -> None:
    if tool.writes and desk.read_only:
        raise ServingSimError(
            f"{tool.name} writes, and this server is read-only",
            code="E_STATE",
            hint="start the server without --read-only",
        )


def _here(call: _Progress, tool: Tool, request: Request, desk: Desk, watch: Watch) -> None:
    result = tool.run(request, desk, watch)
    call.data = result_of(tool, result)
    if tool.skill or size_of(call.data) > _limit_bytes(request):
        from server.reports import keep  # noqa: PLC0415 - few calls keep anything

        if not call.data.get("kept"):  # of a job that was waited for, the whole lies there already
            call.kept = keep(desk, tool.name, call.data)


def _as_job(call: _Progress, tool: Tool, request: Request, desk: Desk, watch: Watch) -> None:
    from server.jobs.start import start  # noqa: PLC0415 - only where work is started
    from server.jobs.wait import wait, waiting_s  # noqa: PLC0415

    folder, joined = start(tool, request, desk, call_id=call.call_id)
    call.job = JobState(job_id=folder.job_id, status="queued", tool=tool.name)
    if joined:
        call.warnings.append(f"the same work is under way already as {folder.job_id}")
    call.job = wait(folder, waiting_s(getattr(request, "wait_s", 0.0), desk), watch)
    if call.job.poll_after_s:
        return
    outcome = folder.outcome()
    call.data, call.kept, call.fault = outcome.result, outcome.kept, outcome.error


def _answer(call: _Progress) -> Envelope:
    result: dict[str, Any] | None = None
    omitted: dict[str, int] = {}
    if call.data is not None and call.fault is None:
        result, omitted = fit(call.data, _limit_bytes(call.request))
    return Envelope(
        ok=call.fault is None,
        call_id=call.call_id,
        result=result,
        error=call.fault,
        job=call.job,
        kept=call.kept,
        omitted=omitted,
        warnings=call.warnings,
    )


def _limit_bytes(request: Request | None) -> int:
    return FULL_BYTES if getattr(request, "detail", "summary") == "full" else SUMMARY_BYTES


def _log(call: _Progress, desk: Desk, caller: Caller) -> None:
    try:
        append(desk, _line(call, desk, caller))
    except OSError as error:
        call.warnings.append(f"the call could not be logged: {error}")


def _line(call: _Progress, desk: Desk, caller: Caller) -> Call:
    args = call.request.normalised() if call.request else _as_given(call.arguments)
    text = plain_json(call.data) if call.data is not None else b""
    report = call.kept.path if call.kept else ""
    return Call(
        call_id=call.call_id,
        parent=caller.parent,
        job_id=_job_id(call),
        t=call.began,
        origin=caller.origin,
        client=caller.client[:200],
        tool=call.name[:100],
        schema_sha=schema_sha(call.tool) if call.tool else "",
        args=args,
        args_sha=sha256_of(plain_json(args)),
        inputs=inputs_of(args, desk) if call.request else [],
        env=versions() | _device(call.data, args),
        ok=call.fault is None,
        status=_status(call),
        ms=round((time.monotonic() - call.began_s) * 1000, 1),
        result_sha=sha256_of(text) if text else "",
        result=call.data if len(text) <= MAX_RESULT_BYTES else None,
        report=report,
        error=call.fault,
    )


def _status(call: _Progress) -> str:
    if call.fault is not None:
        if call.fault.code == "E_CANCELLED":
            return "cancelled"
        return "failed" if call.fault.code in {"E_INTERNAL", "E_TIMEOUT", "E_TOOLCHAIN"} else "refused"
    if call.data is None:
        return call.job.status if call.job else "ok"
    found = (call.data.get("status"), (call.data.get("job") or {}).get("status"), call.data.get("verdict"))
    return next((status for status in found if isinstance(status, str)), "ok")


def _job_id(call: _Progress) -> str:
    if call.job is not None:
        return call.job.job_id
    return str(((call.data or {}).get("job") or {}).get("job_id") or "")


def _device(data: dict[str, Any] | None, args: dict[str, Any]) -> dict[str, str]:
    named = (data or {}).get("device") or args.get("device")
    return {"device": named} if isinstance(named, str) and named else {}


def _as_given(arguments: object) -> dict[str, Any]:
    """Refused arguments, as far as they are plain data of a sensible size."""
    try:
        text = plain_json(arguments)
    except (TypeError, ValueError, RecursionError):
        return {}
    return dict(arguments) if isinstance(arguments, dict) and len(text) <= MAX_RESULT_BYTES else {}


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}... (cut)"
