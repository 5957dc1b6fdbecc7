"""A tool called from the command line: waits until its job has ended, tells how far it is, cancels on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from profiling.command_line import EXIT_INPUT, EXIT_INTERRUPTED
from profiling.console import emit
from server.console import tell
from server.tool import tools
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.envelope import Envelope, Fault
    from skills.desk import Desk

EXIT_FAILED = 1
REFUSED = frozenset({"E_INPUT", "E_NOT_FOUND", "E_PATH", "E_LIMIT"})
"""Codes of what the caller has to change."""
PATIENCE_S = 7 * 86400.0
"""As long as no job lives."""


class Teller:
    """Progress as lines on stderr; Ctrl-C ends the wait."""

    def __init__(self) -> None:
        self.interrupted = False
        self._last = ""

    def progress(self, done: float, total: float | None, message: str) -> None:
        """One line where it says something new; on a terminal the same line again."""
        text = f"{done:g}/{total:g} {message}" if total else message or f"{done:g}"
        if text == self._last:
            return
        self._last = text
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)
        else:
            click.echo(text, err=True)

    def check(self) -> None:
        """Raise where Ctrl-C was pressed."""
        if self.interrupted:
            raise ServingSimError("interrupted", code="E_CANCELLED", hint="call it again")

    def end(self) -> None:
        """Leave the line."""
        if self._last and sys.stderr.isatty():
            click.echo(err=True)


def call(name: str, arguments: dict[str, Any], desk: Desk) -> Envelope:
    """Run a tool and wait until it has ended; only as long as `wait_s` says where the arguments hold it.

    Ctrl-C cancels the job that the call has started; the answer is E_CANCELLED then.
    """
    from server.invoke import Caller, invoke  # noqa: PLC0415 - help and refused flags need none of it

    caller, teller = Caller(origin="cli"), Teller()
    arguments, desk = _to_the_end(name, arguments, desk)
    with _interruptible(teller):
        envelope = invoke(name, arguments, desk, caller=caller, watch=teller)
        if teller.interrupted and envelope.error is not None and envelope.job is not None:
            invoke("job_cancel", {"job_id": envelope.job.job_id}, desk, caller=caller)
    teller.end()
    return envelope


def _to_the_end(name: str, arguments: dict[str, Any], desk: Desk) -> tuple[dict[str, Any], Desk]:
    """The same call without an end of its wait, which only a client over a wire needs."""
    from server.jobs.wait import CLIENT_MOST_S  # noqa: PLC0415 - as above

    tool = tools().get(name)
    if tool is None or "wait_s" not in tool.takes.model_fields or "wait_s" in arguments:
        return arguments, desk
    return {**arguments, "wait_s": CLIENT_MOST_S}, replace(desk, max_wait_s=PATIENCE_S)


def finish(envelope: Envelope, ctx: click.Context, *, as_json: bool) -> None:
    """Print the answer and end with its exit code."""
    if as_json:
        emit(envelope.model_dump(mode="json"))
    elif envelope.error is not None:
        tell(as_error(envelope.error), as_json=False)
    else:
        from server.tool_view import show  # noqa: PLC0415 - a JSON answer needs no rich

        show(envelope)
    ctx.exit(exit_code(envelope))


def exit_code(envelope: Envelope) -> int:
    """0 answered; 1 a finding of fail, or work that broke; 2 refused; 130 interrupted."""
    if envelope.error is not None:
        if envelope.error.code == "E_CANCELLED":
            return EXIT_INTERRUPTED
        return EXIT_INPUT if envelope.error.code in REFUSED else EXIT_FAILED
    result = envelope.result or {}
    inner = job_result(result)
    broken = inner is not None and result.get("error") is not None
    return EXIT_FAILED if broken or (inner or result).get("status") == "fail" else 0


def job_result(result: dict[str, Any]) -> dict[str, Any] | None:
    """What a job has come to, where the result is the answer of a wait for it."""
    return result["result"] or {} if {"job", "jobs", "result", "error"} <= result.keys() else None


def as_error(fault: Fault) -> ServingSimError:
    """A fault as the error that it came from."""
    return ServingSimError(
        fault.message,
        code=fault.code,  # type: ignore[arg-type]  # a fault holds nothing but an error's facts
        known=fault.known,
        hint=fault.hint,
        path=fault.path,
    )


@contextmanager
def _interruptible(teller: Teller) -> Iterator[None]:
    """Ctrl-C is noted once, so that the job can be cancelled; the second one ends the process as ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def note(_number: int, _frame: object) -> None:
        teller.interrupted = True
        click.echo("stopping; Ctrl-C once more ends it at once", err=True)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
