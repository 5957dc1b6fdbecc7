"""A logged call for people: one line each, and which calls belong to a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from server.calls import Call

NAMING = ("kind", "name", "model", "task_id", "campaign_id", "goal", "job_id", "report_id", "uri", "path")
"""Arguments that say what a call is about."""
WRITTEN = ("files", "written", "files_changed", "wrote")
COUNTED = ("measured", "skipped", "iteration_ms", "standing", "verdict", "campaign_id", "closeout")
MAX_SUMMARY = 240


def line(call: Call) -> str:
    """Time, door, tool, how it went, what about, what came out, what it wrote."""
    about = " ".join(f"{name}={value}" for name, value in naming(call.args).items())
    parts = [f"{call.t:%Y-%m-%d %H:%M:%S}", call.origin, call.tool, call.status]
    head = "  ".join(filter(None, [*parts, about, call.job_id]))
    files = written(call)
    tail = [summary(call), f"files: {', '.join(files)}" if files else "", f"[{call.call_id}]"]
    return head + "".join(f"\n    {each}" for each in tail if each)


def summary(call: Call) -> str:
    """What came out, in one line."""
    if call.error is not None:
        text = f"{call.error.code} {call.error.path}: {call.error.message}"
    else:
        text = _of_result(call.result or {})
    text = " ".join(text.split())
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 3]}..."


def written(call: Call) -> list[str]:
    """Files that the result names as written or checked, the store where rows went in, and the report."""
    result = call.result or {}
    named = [each for field in WRITTEN for each in _list(result.get(field))]
    files = [each.get("path") if isinstance(each, dict) else each for each in named]
    store = result.get("db") if result.get("measured") else None
    return [each for each in (*files, store, call.report) if isinstance(each, str) and each]


def naming(args: dict[str, Any]) -> dict[str, str]:
    """Arguments that say what the call is about, also one level down."""
    found: dict[str, str] = {}
    for part in (args, *(value for value in args.values() if isinstance(value, dict))):
        for name in NAMING:
            value = part.get(name)
            if isinstance(value, str) and value and len(value) <= 200:
                found.setdefault(name, value)
    return found


def of_campaign(calls: Iterable[Call], campaign_id: str) -> Iterator[Call]:
    """Calls of a campaign: those that name it, work on a task that it gave out, and waits for that work."""
    everything = list(calls)
    own = [call for call in everything if _names(call, campaign_id)]
    reports = {call.args.get("report_id") for call in own} - {None, ""}
    tasks = [brief for call in own if (brief := _brief(call)) is not None]
    jobs: set[str] = set()
    for call in everything:
        belongs = (
            _names(call, campaign_id)
            or call.report.rpartition("/")[2].removesuffix(".json") in reports
            or any(_same_work(call, tool, about) for tool, about in tasks)
            or call.args.get("job_id") in jobs
        )
        if belongs:
            jobs |= {call.job_id} - {""}
            yield call


def _of_result(result: dict[str, Any]) -> str:
    nested = result.get("result")
    if isinstance(nested, dict) and isinstance(nested.get("summary"), str):
        return str(nested["summary"])
    if isinstance(result.get("summary"), str):
        return str(result["summary"])
    job = result.get("job")
    if isinstance(job, dict):
        return f"{job.get('tool')} {job.get('job_id')} {job.get('status')} {job.get('message') or ''}"
    task = result.get("task")
    if isinstance(task, dict):
        return f"task {task.get('task_id')}: {task.get('do')}"
    return ", ".join(
        f"{name} {value}" for name in COUNTED if isinstance(value := result.get(name), (str, int, float))
    )


def _names(call: Call, campaign_id: str) -> bool:
    return campaign_id in {call.args.get("campaign_id"), (call.result or {}).get("campaign_id")}


def _brief(call: Call) -> tuple[str, dict[str, str]] | None:
    task = (call.result or {}).get("task")
    asked = task.get("call") if isinstance(task, dict) else None
    if not isinstance(asked, dict) or not isinstance(asked.get("arguments"), dict):
        return None
    return str(asked.get("tool")), naming(asked["arguments"])


def _same_work(call: Call, tool: str, about: dict[str, str]) -> bool:
    own = naming(call.args)
    return bool(about) and call.tool == tool and all(own.get(name) == value for name, value in about.items())


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
