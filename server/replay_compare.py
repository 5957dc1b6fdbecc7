"""Two results of one call, compared: what every call makes anew is left aside, the rest is named field by field."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

Check = Literal["exact", "schema", "tolerance"]
Held = Check | Literal["verdicts"]
"""What a caller may ask for, and what a call that measures anew is held to."""
VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}
"""Statuses that say something; the others leave it open."""
Place = tuple[str, ...]
FRESH = frozenset(
    {"call_id", "report_id", "job_id", "uri", "sha256", "bytes", "kept", "job", "jobs", "t", "at",
     "elapsed_s", "wait_s", "poll_after_s", "measured_at", "started_at", "ended_at", "lease_s", "lease_until",
     "workspace"}
)  # fmt: skip
"""Names whose values no two calls share."""
MEASURED = re.compile(
    r"(_ms|_us|_ns|_per_s|(^|_)(ratio|rate|noise|cv|share|samples|regret|efficiency|spread|p10|p90|median|truths)"
    r"|^(total_chars|next_offset))$"
)
"""Names of what was timed, or follows from it: another run times it anew."""
IDS = re.compile(r"\b[a-z][a-z0-9_]{0,39}-\d{8}-[0-9a-f]{6}\b")
TIMES = re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?")
STATE_PATHS = re.compile(r"/\S*/state(/[^\s\"',;)]*)?")
SCRATCH_PATHS = re.compile(r"/\S*?/servingsim-\w+(/[^\s\"',;)]*)?")
DIGESTS = re.compile(r"\b[0-9a-f]{12,64}\b")
SECONDS = re.compile(r"\b\d+(\.\d+)?(e-?\d+)? ?s(econds)?\b")
NUMBERS = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
MAX_DIFFERENCES = 50


@dataclass(frozen=True)
class Difference:
    """One field that is not what it was."""

    path: str
    before: str
    after: str


def differences(before: Any, after: Any, check: Held, *, rtol: float) -> list[Difference]:  # noqa: ANN401
    """Fields of plain data that differ, at most `MAX_DIFFERENCES`.

    Args:
        before: What was recorded.
        after: What came out now.
        check: `exact`: everything that is not made anew by every call; `tolerance`: figures within `rtol`, and
            timed ones as they come; `verdicts`: what passed must not fail, nor the other way round; `schema`: nothing.
        rtol: Relative tolerance of figures.
    """
    if check == "schema":
        return []
    if check == "verdicts":
        return _turned(before, after)[:MAX_DIFFERENCES]
    found = []
    for each in _walk(before, after, "", check == "tolerance", rtol):
        found.append(each)
        if len(found) == MAX_DIFFERENCES:
            break
    return found


def _walk(before: Any, after: Any, path: str, tolerant: bool, rtol: float) -> Iterator[Difference]:  # noqa: ANN401, FBT001
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            if name in FRESH:
                continue
            inner = f"{path}.{name}".lstrip(".")
            if name not in before or name not in after:
                yield Difference(inner, _side(before, name), _side(after, name))
            else:
                yield from _walk(before[name], after[name], inner, tolerant, rtol)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield Difference(path, f"{len(before)} items", f"{len(after)} items")
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _walk(one, other, f"{path}[{index}]", tolerant, rtol)
    elif not _same(before, after, path, tolerant, rtol):
        yield Difference(path, shown(before), shown(after))


def _turned(before: Any, after: Any) -> list[Difference]:  # noqa: ANN401 - plain data
    """Verdicts of both results that contradict each other."""
    then, now = dict(_verdicts(before, ())), dict(_verdicts(after, ()))
    return [
        Difference(f"{'.'.join(place)}.status", then[place], now[place])
        for place in then
        if place in now and VERDICTS[then[place]] is not VERDICTS[now[place]]
    ]


def _verdicts(value: Any, place: Place) -> Iterator[tuple[Place, str]]:  # noqa: ANN401 - plain data
    """Where something with a name has a verdict, whatever stands beside it in its list."""
    if isinstance(value, dict):
        name = next((str(value[key]) for key in ("id", "task_id") if isinstance(value.get(key), str)), "")
        here = (*place, name) if name else place
        status = value.get("status")
        if isinstance(status, str) and status in VERDICTS:
            yield here, status
        for key, each in value.items():
            yield from _verdicts(each, (*here, key))
    elif isinstance(value, list):
        for each in value:
            yield from _verdicts(each, place)


def _same(before: Any, after: Any, path: str, tolerant: bool, rtol: float) -> bool:  # noqa: ANN401, FBT001
    if isinstance(before, str) and isinstance(after, str):
        return _plain(before, tolerant) == _plain(after, tolerant)
    if _is_number(before) and _is_number(after) and tolerant:
        measured = any(MEASURED.search(each.partition("[")[0]) for each in path.split("."))
        return measured or math.isclose(before, after, rel_tol=rtol, abs_tol=1e-12)
    return type(before) is type(after) and bool(before == after)


def _plain(text: str, tolerant: bool) -> str:  # noqa: FBT001 - the caller's own
    for pattern, word in (
        (IDS, "ID"),
        (TIMES, "TIME"),
        (STATE_PATHS, "PATH"),
        (SCRATCH_PATHS, "PATH"),
        (DIGESTS, "SHA"),
        (SECONDS, "S"),
    ):
        text = pattern.sub(word, text)
    return NUMBERS.sub("N", text) if tolerant else text


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _side(data: dict[str, Any], name: str) -> str:
    return shown(data[name]) if name in data else "missing"
