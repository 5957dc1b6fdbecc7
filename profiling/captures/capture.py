"""A capture as its users see it: launches in columns, steps with phases, totals by kernel, and what was wrong.

Durations are nanoseconds of the file's own clock. Broken ones stay in the sequence and are left out of every sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from profiling.captures.contract import Mark, Phase, Summary
    from profiling.captures.fold import Part
    from profiling.captures.launches import Launches

LaunchKind = Literal["kernel", "memcpy", "memset"]
KINDS: tuple[LaunchKind, ...] = ("kernel", "memcpy", "memset")
OUTSIDE = -1
"""Step of a launch that no step holds."""


@dataclass(frozen=True)
class Step:
    """One iteration of an engine.

    Attributes:
        index: Position in time.
        phase: What its annotation says.
        name: The annotation.
        tokens: New tokens, -1 where it does not say.
        context_requests: Requests in prefill, -1 where it does not say.
        generation_requests: Requests in decode, -1 where it does not say.
        launches: Of its devices together.
        start_ns: Of its first launch.
        wall_ns: From its first launch to its last one's end, on the device where that is longest.
        busy_ns: Time of that device in which something ran.
        kernel_ns: Sum of the sound durations, of all its devices.
        broken: Launches whose duration is broken.
    """

    index: int
    phase: Phase
    name: str
    tokens: int
    context_requests: int
    generation_requests: int
    launches: int
    start_ns: int
    wall_ns: int
    busy_ns: int
    kernel_ns: int
    broken: int

    @property
    def gap_ns(self) -> int:
        """Time between its first launch and its last in which its device ran nothing."""
        return self.wall_ns - self.busy_ns

    @property
    def requests(self) -> int:
        """Of both phases, -1 where the annotation does not say."""
        known = [each for each in (self.context_requests, self.generation_requests) if each >= 0]
        return sum(known) if known else -1


@dataclass(frozen=True)
class PhaseTime:
    """The steps of one phase together.

    Attributes:
        phase: As its steps say.
        steps: How many.
        launches: Of all of them.
        wall_ns: Sum of their walls.
        busy_ns: Sum of the times in which their devices ran something.
        kernel_ns: Sum of sound durations; above `busy_ns` where streams or devices run together.
    """

    phase: Phase
    steps: int
    launches: int
    wall_ns: int
    busy_ns: int
    kernel_ns: int

    @property
    def gap_share(self) -> float:
        """Part of the walls in which the device ran nothing."""
        return 1 - self.busy_ns / self.wall_ns if self.wall_ns else 0.0


@dataclass(frozen=True)
class KernelTotal:
    """One kernel in one phase.

    Attributes:
        name: Whole.
        phase: Of the steps that hold it; `unknown` outside of all.
        kind: `kernel`, `memcpy` or `memset`.
        calls: Launches with a sound duration.
        total_ns: Their durations.
        share: Of the time of all kernels of the phase; the shares of a phase sum to 1.
        category: What its name and its host operation suggest, empty where nothing.
        confidence: From 0 to 1; a suggestion, never proof.
        cpu_op: The host operation that launched most of them, empty where unknown.
        shapes: Input shapes of that operation in most of them.
        broken: Launches left out for their broken durations.
        graph: Whether most were replayed from a graph.
    """

    name: str
    phase: Phase
    kind: LaunchKind
    calls: int
    total_ns: int
    share: float
    category: str
    confidence: float
    cpu_op: str = ""
    shapes: str = ""
    broken: int = 0
    graph: bool = False


@dataclass(frozen=True)
class Gap:
    """A time in which a device ran nothing, between two launches of one step."""

    step: int
    device: int
    after: str
    before: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True)
class Device:
    """What ran on one device.

    Attributes:
        index: -1 where the file does not say.
        name: Empty where the file does not say.
        launches: On it.
        kernel_ns: Their sound durations.
        share: Of all devices' kernel time.
    """

    index: int
    name: str
    launches: int
    kernel_ns: int
    share: float


@dataclass(frozen=True)
class Finding:
    """Something about the file that a reader of the figures has to know.

    Attributes:
        kind: Stable, for programs: `broken_duration`, `outside_steps`, `no_steps`, `lost_launches` and others.
        what: One sentence.
        count: Of what is concerned.
        total_ns: Recorded time that is concerned and not counted, 0 where none is.
    """

    kind: str
    what: str
    count: int
    total_ns: int = 0


@dataclass(frozen=True)
class Capture:
    """A file, read.

    Attributes:
        path: The file.
        reader: The format.
        facts: What the file says of itself.
        devices: In it.
        launches: All of them; none in a file that holds only totals.
        steps: In time order.
        totals: By kernel and phase, by time.
        findings: What was wrong or is worth knowing.
        marks: The annotations that the steps come from.
        summaries: As read, where the file holds only totals.
    """

    path: Path
    reader: str
    facts: Mapping[str, str]
    devices: Sequence[Device]
    launches: Launches
    steps: Sequence[Step]
    totals: Sequence[KernelTotal]
    findings: Sequence[Finding]
    marks: Sequence[Mark]
    summaries: Sequence[Summary]

    @property
    def total_ns(self) -> int:
        """All sound time: the sum over `totals`."""
        return sum(each.total_ns for each in self.totals)

    @property
    def phases(self) -> list[Phase]:
        """Phases that hold kernel time, the largest first."""
        sums: dict[Phase, int] = {}
        for each in self.totals:
            sums[each.phase] = sums.get(each.phase, 0) + each.total_ns
        return sorted(sums, key=lambda phase: -sums[phase])

    def phase_times(self) -> list[PhaseTime]:
        """Steps summed by phase, in the order of `phases`; what no step holds has none."""
        found = []
        for phase in self.phases:
            steps = [each for each in self.steps if each.phase == phase]
            if steps:
                names = ("launches", "wall_ns", "busy_ns", "kernel_ns")
                sums = [sum(getattr(each, name) for each in steps) for name in names]
                found.append(PhaseTime(phase, len(steps), *sums))
        return found

    def kernels(self, phase: Phase | None = None) -> list[KernelTotal]:
        """Totals of a phase, the largest first; of every phase where none is named."""
        return [each for each in self.totals if phase is None or each.phase == phase]

    def sequence(self, step: int | None = None, device: int | None = None) -> list[Part]:
        """Names that a step launched on one device, in time, repetitions folded.

        Args:
            step: Its index; OUTSIDE for what no step holds. By default the first, or OUTSIDE where there is none.
            device: The one with most launches where none is named.

        Returns:
            `Part(repeat, body)`; `profiling.captures.fold.expand` gives the names back.
        """
        from profiling.captures.sequence import folded_names  # noqa: PLC0415 - it imports these types

        return folded_names(self, self._default(step), device)

    def gaps(self, step: int | None = None, limit: int = 10) -> list[Gap]:
        """The longest times in which a step's device ran nothing."""
        from profiling.captures.gaps import longest_gaps  # noqa: PLC0415 - it imports these types

        return longest_gaps(self, self._default(step), limit)

    def _default(self, step: int | None) -> int:
        if step is not None:
            return step
        return 0 if self.steps else OUTSIDE
