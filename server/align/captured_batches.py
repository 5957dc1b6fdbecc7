"""What each captured step computed: from the log of the captured run, else as far as the annotations tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations import Iteration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.captures.capture import Capture, Step
    from servingsim.sim.truth.iterations import IterationLog

NO_LENGTHS = (
    "lengths of single requests are not in the capture: those of a logged iteration of as many requests and tokens "
    "stand for them, else the mean of each step"
)


@dataclass(frozen=True)
class CapturedBatches:
    """Batches by the index of a step, and what about them is an estimate (empty: nothing)."""

    by_step: dict[int, Iteration]
    estimated: str


def batches_of(capture: Capture, log: IterationLog) -> CapturedBatches:
    """The batch of every step.

    Args:
        capture: With annotations that say new tokens and requests.
        log: Of the captured run, in order, where the log has it; of other runs only the lengths are looked at.

    Raises:
        ServingSimError: E_INPUT, the log's captured run is another one, or the annotations say too little.
    """
    if log.captured:
        return CapturedBatches(_checked(capture, log.captured), "")
    tracked, alike = _Tracked(), _by_size(log)
    found = {
        step.index: alike.get((step.context_requests, step.generation_requests, step.tokens), estimate)
        for step in capture.steps
        for estimate in [tracked.batch(step)]
    }
    known = {index: each for index, each in found.items() if each is not None}
    if not known:
        raise ServingSimError(
            "no step of the capture says how many tokens and requests it computes",
            path=str(capture.path),
            known="vLLM's execute_..._context_n(tokens)_generation_n(tokens)",
            hint="capture again with the engine's annotations, or: servingsim capture record",
        )
    return CapturedBatches(known, NO_LENGTHS)


def _by_size(log: IterationLog) -> dict[tuple[int, int, int], Iteration]:
    """The first iteration of so many prefills, decodes and new tokens."""
    found: dict[tuple[int, int, int], Iteration] = {}
    for each in (iteration for run in log.runs for iteration in run.iterations):
        if each.prefills:
            found.setdefault((len(each.prefills), len(each.decodes), each.num_tokens), each)
    return found


def _checked(capture: Capture, logged: Sequence[Iteration]) -> dict[int, Iteration]:
    if len(capture.steps) != len(logged):
        raise ServingSimError(
            f"the log's captured run has {len(logged)} iterations, the capture {len(capture.steps)} steps",
            path=str(capture.path),
            hint="give the log that was recorded together with this capture",
        )
    for step, each in zip(capture.steps, logged, strict=True):
        if step.tokens not in (-1, each.num_tokens):
            raise ServingSimError(
                f"step {step.index} computes {step.tokens} tokens by the capture, {each.num_tokens} by the log",
                path=str(capture.path),
                hint="give the log that was recorded together with this capture",
            )
    return {step.index: each for step, each in zip(capture.steps, logged, strict=True)}


@dataclass
class _Tracked:
    """Tokens that were computed so far and the most requests seen: their mean context, if the capture begins idle."""

    tokens: int = 0
    requests: int = 0

    def batch(self, step: Step) -> Iteration | None:
        """None where the annotation says too little."""
        chunks, decodes = max(step.context_requests, 0), max(step.generation_requests, 0)
        if step.tokens < 0 or not chunks + decodes or step.tokens < chunks + decodes:
            return None
        context = round(self.tokens / self.requests) if self.requests else 0
        new = _shares(step.tokens - decodes, chunks) if chunks else []
        # Chunks of prompts that were begun before cannot be told from fresh ones: all count as fresh.
        self.tokens += step.tokens
        self.requests = max(self.requests, chunks + decodes)
        return Iteration(0.0, 0.0, tuple((0, each) for each in new), (context,) * decodes, {})


def _shares(total: int, parts: int) -> list[int]:
    return [total // parts + (index < total % parts) for index in range(parts)]
