"""What `nsys stats` prints and what tools around it write: a total for each kernel, or a line for each execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiling.captures.contract import UNKNOWN, KernelLaunch, Reader, Summary
from profiling.captures.nsys.lines import decoded, lines
from profiling.captures.nsys.numbers import nanoseconds, whole
from profiling.captures.nsys.sections import TELLING, rows
from profiling.captures.step_names import step_name
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from profiling.captures.contract import Phase, Sink
    from profiling.captures.nsys.sections import Row

MOST_SUMMARIES = 200_000
KERNELS = "nsys stats --report cuda_gpu_kern_sum --format csv FILE.nsys-rep"
CUT = ("…", "...")
PHASES: tuple[Phase, ...] = ("prefill", "decode", "mixed")
COORDINATES = ("gx", "gy", "gz", "bx", "by", "bz")


@dataclass
class Found:
    """Summaries by section, kept until it is known which of them say the same."""

    sections: dict[int, list[Summary]] = field(default_factory=dict)
    contents: dict[int, str] = field(default_factory=dict)
    launches: int = 0
    cut_names: int = 0


def recognises(_path: Path, head: bytes) -> bool:
    """A text with a report's header in it, whichever report."""
    text = decoded(head)
    if text.lstrip().startswith(("{", "[")):
        return False
    lower = (line for line in text.lower().split("\n") if "\0" not in line)
    return any(word in line for line in lower for word in TELLING)


def read(path: Path, sink: Sink) -> None:
    """Hand on the executions of a trace, or else the totals of one summary.

    Raises:
        ServingSimError: E_INPUT, no report of kernels, a damaged line, or several summaries that differ; E_LIMIT.
    """
    found = Found()
    for row in rows(path, lines(path)):
        found.contents.setdefault(row.section, row.titles.content)
        if row.titles.content == "trace":
            _check_one_trace(found, row, path)
            sink.launch(_launch(row, path))
            found.launches += 1
        else:
            _keep(found, row, path)
    if not found.launches:
        for summary in _chosen(found, path):
            sink.summary(summary)
    if found.cut_names:
        sink.fact("cut_names", str(found.cut_names))


def _check_one_trace(found: Found, row: Row, path: Path) -> None:
    traces = [number for number, content in found.contents.items() if content == "trace"]
    if traces != [row.section]:
        raise ServingSimError(
            f"holds {len(traces)} traces, the second from line {row.line}",
            path=str(path),
            hint="give one alone",
        )


def _keep(found: Found, row: Row, path: Path) -> None:
    """One summary line; of a report by range only the ranges that name a step's phase."""
    kept = found.sections.setdefault(row.section, [])
    summary = _summary(row, path)
    if summary is None:
        return
    if len(kept) >= MOST_SUMMARIES:
        raise ServingSimError(
            f"more than {MOST_SUMMARIES} kernels", code="E_LIMIT", path=str(path), hint=KERNELS
        )
    found.cut_names += summary.name.endswith(CUT)
    kept.append(summary)


def _summary(row: Row, path: Path) -> Summary | None:
    titles, cells = row.titles, row.cells
    if titles.content == "device" and "kernel" not in titles.cell(cells, "category").lower():
        return None
    phase = titles.cell(cells, "phase").lower()
    told: Phase = next((each for each in PHASES if each == phase), "unknown")
    if titles.content == "by_range":
        # `nsys stats` writes the domain before the range, of the default domain nothing but the colon.
        step = step_name(titles.cell(cells, "range").removeprefix(":"))
        if step is None or step.phase == "unknown":
            return None
        told = step.phase
    name = titles.cell(cells, "operation" if titles.content == "device" else "name")
    calls = whole(titles.cell(cells, "calls"))
    total = nanoseconds(titles.cell(cells, "total"), titles.units["total"])
    if not name or calls is None or total is None:
        fault = "name" if not name else "calls" if calls is None else "total_ns"
        seen = titles.cell(cells, {"calls": "calls", "total_ns": "total"}.get(fault, "name"))
        raise _unreadable(row, path, fault, seen)
    return Summary(name, calls, total, told)


def _launch(row: Row, path: Path) -> KernelLaunch:
    titles, cells = row.titles, row.cells
    name = titles.cell(cells, "name")
    times = [nanoseconds(titles.cell(cells, each), titles.units[each]) for each in ("start", "duration")]
    if not name or None in times:
        raise _unreadable(row, path, "name, start or duration", " ".join(cells)[:80])
    start, duration = (each or 0 for each in times)
    kind: Literal["kernel", "memcpy", "memset"] = "kernel"
    if name.lower().startswith(("[cuda mem", "[memcpy", "[memset")):
        kind = "memset" if "memset" in name.lower() else "memcpy"
    grid = [whole(titles.cell(cells, each)) for each in COORDINATES]
    return KernelLaunch(
        name=name,
        start_ns=start,
        duration_ns=duration,
        device=_number_in(titles.cell(cells, "device")),
        stream=_number_in(titles.cell(cells, "stream")),
        kind=kind,
        correlation=_number_in(titles.cell(cells, "correlation")),
        grid=tuple(each for each in grid if each is not None) if None not in grid else (),
    )


def _number_in(text: str) -> int:
    """`7`, or the number in `NVIDIA H100 (0)`."""
    inner = text.rpartition("(")[2].rstrip(")")
    found = whole(inner)
    return UNKNOWN if found is None else found


def _unreadable(row: Row, path: Path, what: str, seen: str) -> ServingSimError:
    return ServingSimError(
        f"line {row.line}: no {what} in {seen!r}",
        path=str(path),
        known="a name, a whole count and a time whose unit the value or the title gives",
        hint=KERNELS,
    )


def _chosen(found: Found, path: Path) -> list[Summary]:
    """The one summary of the file. Several of the same kernels are not added up."""
    for contents in ({"kernels", "grids"}, {"device"}, {"by_range"}):
        same = [number for number, content in found.contents.items() if content in contents]
        totals = {number: sum(each.total_ns for each in found.sections[number]) for number in same}
        if len(set(totals.values())) > 1:
            raise ServingSimError(
                f"holds {len(same)} summaries of kernels, of {', '.join(f'{ns} ns' for ns in totals.values())}",
                path=str(path),
                known="one summary, or several of the same run",
                hint="give each in a file of its own",
            )
        if same and found.sections[same[0]]:
            return found.sections[same[0]]
    raise ServingSimError(
        "has no header with a name, a count and a total in ns, or no line after it",
        path=str(path),
        known="the reports cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum, cuda_gpu_sum, cuda_gpu_trace, and "
        "nvtx_kern_sum with ranges named after phases",
        hint=KERNELS,
    )


READER = Reader("nsys_csv", "reports of nsys stats: CSV, columns or tables", recognises, read)
