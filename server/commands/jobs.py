"""`jobs`: list the jobs of this workspace, wait for one, or end one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from profiling.console import emit, say, table
from server.console import json_flag
from server.jobs.cancel import cancel as cancel_job
from server.jobs.folder import job_folder, job_folders
from server.jobs.look import look
from server.jobs.wait import wait as wait_for
from skills.desk import Desk

if TYPE_CHECKING:
    from server.envelope import JobState

EXIT_WITHOUT_RESULT = 1


@click.group("jobs", invoke_without_command=True)
@click.pass_context
def jobs(ctx: click.Context) -> None:
    """List the jobs, wait for one, or end one."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_jobs, as_json=False)


@jobs.command("list")
@json_flag
def list_jobs(*, as_json: bool) -> None:
    """Show every job, the newest first."""
    states = [look(folder) for folder in job_folders(Desk.from_environment())]
    if as_json:
        emit([state.model_dump(mode="json") for state in states])
    elif states:
        rows = [(each.job_id, each.tool, each.status, f"{each.elapsed_s:g}", each.message) for each in states]
        table(["job", "tool", "status", "seconds", "last progress"], rows)
    else:
        say("no jobs")


@jobs.command("wait")
@click.argument("job_id")
@click.option("--wait-s", type=click.FloatRange(0), default=86400.0, help="Seconds at most; default: a day.")
@json_flag
@click.pass_context
def wait(ctx: click.Context, job_id: str, *, wait_s: float, as_json: bool) -> None:
    """Wait for JOB_ID and print its result. Exit code 1: it has none, or none yet."""
    folder = job_folder(Desk.from_environment(), job_id)
    state = wait_for(folder, wait_s, _Told())
    if state.poll_after_s:
        _show(state, as_json=as_json)
        ctx.exit(EXIT_WITHOUT_RESULT)
    outcome = folder.outcome()
    emit({"job": state.model_dump(mode="json"), **outcome.model_dump(mode="json")})
    ctx.exit(0 if outcome.error is None else EXIT_WITHOUT_RESULT)


@jobs.command("cancel")
@click.argument("job_id")
@json_flag
def cancel(job_id: str, *, as_json: bool) -> None:
    """End JOB_ID and every process that it started. What it has stored stays."""
    _show(cancel_job(job_folder(Desk.from_environment(), job_id)), as_json=as_json)


class _Told:
    """Progress on stderr; Ctrl-C ends the wait, not the job."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        say(f"[{done:g}/{total:g}] {message}" if total else message)

    def check(self) -> None:
        """Ctrl-C says so itself."""


def _show(state: JobState, *, as_json: bool) -> None:
    if as_json:
        emit(state.model_dump(mode="json"))
    else:
        click.echo(f"{state.job_id}  {state.tool}  {state.status}  {state.elapsed_s:g} s  {state.message}")


COMMAND = jobs
