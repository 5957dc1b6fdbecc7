"""A capture for people and for programs: figures in a table, everything in JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from profiling.captures.categories import own_name
from profiling.captures.fold import Part, lines
from profiling.console import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.captures.capture import Capture, Gap
    from profiling.captures.contract import Phase

LONGEST_NAME = 72
MOST_STEPS = 20
PER_MS = 1e6


def facts_of(capture: Capture, phase: Phase | None = None) -> dict[str, Any]:
    """Everything that a capture says, its launches apart.

    Args:
        capture: Read.
        phase: Only its kernels.
    """
    return {
        "path": str(capture.path),
        "reader": capture.reader,
        "facts": dict(capture.facts),
        "total_ns": capture.total_ns,
        "launches": len(capture.launches),
        "phases": capture.phases,
        "phase_times": [{**asdict(each), "gap_share": each.gap_share} for each in capture.phase_times()],
        "devices": [asdict(each) for each in capture.devices],
        "steps": [
            {**asdict(each), "gap_ns": each.gap_ns, "requests": each.requests} for each in capture.steps
        ],
        "kernels": [asdict(each) for each in capture.kernels(phase)],
        "findings": [asdict(each) for each in capture.findings],
    }


def sequence_facts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Folded parts as `{"repeat": n, "body": [name or part]}`."""
    return [_part(part) for part in parts]


def show(capture: Capture, phase: Phase | None, limit: int) -> None:
    """Print a capture: what it is, its steps, its kernels by phase, and what was wrong."""
    click.echo(f"{capture.path}: {capture.reader}, {len(capture.launches)} launches")
    for device in capture.devices:
        name = device.name or "not named"
        click.echo(
            f"device {device.index} ({name}): {device.launches} launches, {device.kernel_ns / PER_MS:.3f} ms, "
            f"{device.share:.1%}"
        )
    _steps(capture)
    for each in capture.phases if phase is None else [phase]:
        _kernels(capture, each, limit)
    for finding in capture.findings:
        click.echo(f"{finding.kind}: {finding.what}")


def show_sequence(parts: Sequence[Part], gaps: Sequence[Gap]) -> None:
    """Print a folded sequence, one name a line, and the longest gaps."""
    for depth, name, count in lines(parts):
        head = f"{count} x " if count > 1 else ""
        click.echo("  " * depth + (head + short(name) if name else f"repeat {count} x:"))
    for gap in gaps:
        click.echo(
            f"gap {gap.duration_ns / PER_MS:.3f} ms after {short(gap.after)}, before {short(gap.before)}"
        )


def short(name: str) -> str:
    """A kernel's name as a line can hold it: its template and parameters left out."""
    text = own_name(name)
    clean = "".join(each if each.isprintable() else "?" for each in text)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 3] + "..."


def _steps(capture: Capture) -> None:
    if not capture.steps:
        return
    rows = [
        (
            each.index,
            each.phase,
            _known(each.tokens),
            _known(each.context_requests),
            _known(each.generation_requests),
            each.launches,
            round(each.wall_ns / PER_MS, 3),
            round(each.busy_ns / PER_MS, 3),
            round(each.gap_ns / PER_MS, 3),
        )
        for each in capture.steps[:MOST_STEPS]
    ]
    names = ("step", "phase", "tokens", "prefills", "decodes", "launches", "wall ms", "busy ms", "gaps ms")
    table(names, rows)
    if len(capture.steps) > MOST_STEPS:
        click.echo(f"... {len(capture.steps) - MOST_STEPS} more steps")


def _kernels(capture: Capture, phase: Phase, limit: int) -> None:
    kernels = capture.kernels(phase)
    whole = sum(each.total_ns for each in kernels)
    click.echo(f"{phase}: {len(kernels)} kernels, {whole / PER_MS:.3f} ms{_gaps(capture, phase)}")
    rows = [
        (
            f"{each.share:.2%}",
            round(each.total_ns / PER_MS, 3),
            each.calls,
            f"{each.category} ({each.confidence:.2f})" if each.category else "",
            short(each.name),
            each.cpu_op[:LONGEST_NAME],
        )
        for each in kernels[:limit]
    ]
    rest = kernels[limit:]
    if rest:
        ns = sum(each.total_ns for each in rest)
        calls = sum(each.calls for each in rest)
        share = f"{ns / whole:.2%}" if whole else ""
        rows.append((share, round(ns / PER_MS, 3), calls, "", f"{len(rest)} more kernels", ""))
    table(("share", "ms", "calls", "suggests", "kernel", "launched by"), rows)


def _gaps(capture: Capture, phase: Phase) -> str:
    """How much of its steps' time the kernels do not fill."""
    found = next((each for each in capture.phase_times() if each.phase == phase), None)
    if found is None:
        return ""
    steps = f"{found.steps} steps" if found.steps > 1 else "1 step"
    each = f"{found.launches / found.steps:g} launches each"
    return f" in {steps}, {each}; the device idle for {found.gap_share:.1%} of their time"


def _known(value: int) -> int | str:
    return value if value >= 0 else ""


def _part(part: Part) -> dict[str, Any]:
    return {
        "repeat": part.repeat,
        "body": [each if isinstance(each, str) else _part(each) for each in part.body],
    }
