"""A measured run of an engine, iteration by iteration: what each step computed and how long it took.

Lengths are tokens, times milliseconds from the beginning of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping

CAPTURED = "captured"
"""Name of the run whose iterations a profile was taken of: never fitted on, never judged."""


@dataclass(frozen=True)
class Iteration:
    """One step of the engine.

    Attributes:
        begin_ms: When it began.
        duration_ms: As the engine's caller saw it.
        prefills: `(tokens in the cache, new tokens)` of each request in prefill.
        decodes: Tokens in the cache of each request in decode, before the step.
        parts_ms: Parts of the duration by the engine's own clock, where it tells them (`sched`, `exec`, ...).
    """

    begin_ms: float
    duration_ms: float
    prefills: tuple[tuple[int, int], ...]
    decodes: tuple[int, ...]
    parts_ms: Mapping[str, float]

    @property
    def phase(self) -> str:
        """`prefill`, `decode` or `mixed`."""
        if not self.prefills:
            return "decode"
        return "mixed" if self.decodes else "prefill"

    @property
    def num_requests(self) -> int:
        """Requests of both phases."""
        return len(self.prefills) + len(self.decodes)

    @property
    def num_tokens(self) -> int:
        """New tokens."""
        return sum(new for _, new in self.prefills) + len(self.decodes)

    def batch(self) -> Batch:
        """As the simulator prices it; every chunk is sampled, as vLLM V1 does."""
        return Batch.of(
            [(new, cached) for cached, new in self.prefills], [cached + 1 for cached in self.decodes]
        )


@dataclass(frozen=True)
class MeasuredRequest:
    """One request of a run.

    Attributes:
        prompt_tokens: Of its prompt.
        submitted_ms: When the engine got it.
        token_ms: When each of its tokens was there.
    """

    prompt_tokens: int
    submitted_ms: float
    token_ms: tuple[float, ...]


@dataclass(frozen=True)
class Run:
    """One repetition.

    Attributes:
        name: As the log has it.
        iterations: In time.
        requests: In the order in which they were submitted; none where the log has none.
    """

    name: str
    iterations: tuple[Iteration, ...]
    requests: tuple[MeasuredRequest, ...]


@dataclass(frozen=True)
class IterationLog:
    """A file of runs.

    Attributes:
        engine: What ran, as the file says.
        facts: What else it says of itself.
        max_num_tokens: New tokens of an iteration at most, 0 where the file does not say.
        max_num_seqs: Requests that run at once at most, 0 where it does not say.
        runs: In order, without the captured one.
        captured: Iterations of the run that a profile was taken of, in order; none where the file has none.
    """

    engine: str
    facts: Mapping[str, str]
    max_num_tokens: int
    max_num_seqs: int
    runs: tuple[Run, ...]
    captured: tuple[Iteration, ...] = ()
