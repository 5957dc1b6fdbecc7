"""What a recording serves: a sweep for the profiler, and runs whose time counts."""

from __future__ import annotations

import random
from dataclasses import dataclass

from servingsim.errors import ServingSimError

SMALLEST_PROMPT = 16
DECODE_STEPS = 2
MOST_DECODES = 64
DECODE_CONTEXT = 256

Asked = tuple[int, int, float]
"""Prompt tokens, output tokens, seconds after the begin."""


@dataclass(frozen=True)
class Traffic:
    """Requests of a run that counts.

    Attributes:
        requests: How many.
        prompt_tokens: Mean of the prompts, drawn between half and twice of it.
        output_tokens: Mean of the outputs, likewise.
        rate: Requests a second; 0: all at once.
        seed: Of what is drawn.
    """

    requests: int = 12
    prompt_tokens: int = 192
    output_tokens: int = 24
    rate: float = 0.0
    seed: int = 0


def traffic_of(traffic: Traffic, longest: int) -> list[Asked]:
    """The requests in the order of arrival.

    Args:
        traffic: What is wanted.
        longest: Tokens of a request at most.

    Raises:
        ServingSimError: E_LIMIT, a request can be longer than the engine takes.
    """
    most = 2 * (traffic.prompt_tokens + traffic.output_tokens)
    if most > longest:
        raise ServingSimError(
            f"requests of up to {most} tokens",
            code="E_LIMIT",
            known=f"the engine takes {longest}",
            hint="lower --prompt-tokens or --output-tokens, or raise --max-model-len",
        )
    draw, at, found = random.Random(traffic.seed), 0.0, []  # noqa: S311 - lengths of a benchmark
    for _ in range(traffic.requests):
        prompt, output = (
            max(1, round(mean * 2 ** draw.uniform(-1, 1)))
            for mean in (traffic.prompt_tokens, traffic.output_tokens)
        )
        found.append((prompt, output, at))
        at += draw.expovariate(traffic.rate) if traffic.rate else 0.0
    return found


def sweep_of(max_num_tokens: int, max_num_seqs: int, longest: int) -> list[list[Asked]]:
    """Waves that show the profiler every size of an iteration: prefills alone, decodes alone, and one mixed."""
    waves: list[list[Asked]] = []
    prompt = SMALLEST_PROMPT
    while prompt <= min(max_num_tokens, longest - 1):
        waves.append([(prompt, 1, 0.0)])
        prompt *= 2
    batch = 1
    while batch <= min(max_num_seqs, MOST_DECODES):
        context = max(1, min(max_num_tokens // batch, DECODE_CONTEXT, longest - DECODE_STEPS - 1))
        waves.append([(context, 1 + DECODE_STEPS, 0.0)] * batch)
        batch *= 2
    # The second prompt does not fit beside the first: its rest meets the first one's decode.
    whole = min(max_num_tokens, longest - 4)
    if max_num_seqs > 1 and whole > 4:
        waves.append([(whole // 2, 3, 0.0), (whole, 2, 0.0)])
    return waves
