"""Fields of a result of `vllm bench serve`, read one by one: what is wrong is named with its place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests_compare import QUANTILES
from servingsim.sim.workload.rows import MAX_LENGTH, finite
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray

LENGTHS, TIMES, SENT = ("input_lens", "output_lens"), ("ttfts", "itls"), "start_times"
METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "latency"}
"""Metrics by the name that the file gives them."""


@dataclass(frozen=True)
class BenchRequests:
    """Requests that got an answer, in the order of the file; [requests], milliseconds. None: not in the file.

    Attributes:
        prompt: Prompt tokens.
        output: Output tokens.
        ttft_ms: From when it was sent to its first token.
        latency_ms: From when it was sent to its last token.
        sent_ms: When it was sent, from the first.
    """

    prompt: IntArray
    output: IntArray
    ttft_ms: FloatArray | None
    latency_ms: FloatArray | None
    sent_ms: FloatArray | None


@dataclass(frozen=True)
class BenchFile:
    """A result file's object, read field by field.

    Attributes:
        path: Of the file, for messages.
        data: The object.
    """

    path: Path
    data: dict[str, Any]

    def figures(self) -> dict[str, float]:
        """Means and quantiles that the file has, by our names."""
        words = {"mean": "mean", "median": "median"} | {name: name for name in QUANTILES if name[0] == "p"}
        named = {
            f"{metric}_{stat}": self.number(f"{word}_{field}_ms")
            for field, metric in METRICS.items()
            for word, stat in words.items()
        }
        return {name: value for name, value in named.items() if value is not None}

    def requests(self) -> BenchRequests:
        """The answered ones; those that failed have no output or an error."""
        prompts, outputs = (self.listed(name) for name in LENGTHS)
        count = len(prompts)
        errors = self.listed("errors", count) if self.data.get("errors") else [""] * count
        ttfts, gaps, sent = (
            self.listed(name, count) if self.data.get(name) is not None else None for name in (*TIMES, SENT)
        )
        self.listed("output_lens", count)
        kept = [at for at in range(count) if outputs[at] != 0 and not errors[at]]
        if not kept:
            raise self.refused("output_lens", "no request got an answer", "one request with output at least")
        prompt, output = (
            np.array([self.length(name, at, every[at]) for at in kept], dtype=np.int64)
            for name, every in zip(LENGTHS, (prompts, outputs), strict=True)
        )
        ttft_ms = None if ttfts is None else self.seconds("ttfts", ttfts, kept) * 1e3
        latency_ms = None
        if ttft_ms is not None and gaps is not None:
            latency_ms = ttft_ms + self.gaps_ms(gaps, kept, output)
        sent_ms = None if sent is None else self.seconds(SENT, sent, kept) * 1e3
        return BenchRequests(
            prompt, output, ttft_ms, latency_ms, None if sent_ms is None else sent_ms - sent_ms.min()
        )

    def gaps_ms(self, gaps: list[Any], kept: list[int], output: IntArray) -> FloatArray:
        """Sum of the gaps of each request."""
        sums = np.zeros(len(kept))
        for place, at in enumerate(kept):
            if not isinstance(gaps[at], list):
                raise self.refused(f"itls[{at}]", shown(gaps[at]), "a list of seconds")
            if output[place] > 1 and not gaps[at]:
                raise self.refused(
                    f"itls[{at}]",
                    f"empty beside {output[place]} output tokens",
                    "gaps between tokens: measure an endpoint that streams",
                )
            sums[place] = self.seconds(f"itls[{at}]", gaps[at], range(len(gaps[at]))).sum() * 1e3
        return sums

    def listed(self, name: str, count: int | None = None) -> list[Any]:
        """A list, of so many places where that is given."""
        value = self.data[name]
        if not isinstance(value, list):
            raise self.refused(name, shown(value), "a list, a place a request")
        if count is not None and len(value) != count:
            raise self.refused(name, f"{len(value)} places", f"{count}, as in {LENGTHS[0]}")
        return value

    def listed_requests(self) -> int:
        """Requests of the run, answered or not."""
        return self.whole("num_prompts" if "num_prompts" in self.data else "completed")

    def seconds(self, name: str, values: list[Any], places: list[int] | range) -> FloatArray:
        """Times at some places of a list."""
        numbers = [finite(values[at]) for at in places]
        for at, number in zip(places, numbers, strict=True):
            if number is None or number < 0:
                raise self.refused(f"{name}[{at}]", shown(values[at]), "seconds, from 0")
        return np.array(numbers, dtype=np.float64)

    def length(self, name: str, at: int, value: object) -> int:
        """Tokens of a request."""
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LENGTH:
            raise self.refused(f"{name}[{at}]", shown(value), f"whole tokens from 1 to {MAX_LENGTH}")
        return value

    def whole(self, name: str) -> int:
        """A whole number from 0."""
        if name not in self.data:
            raise ServingSimError(f"no {name}", known="a result of `vllm bench serve`", path=str(self.path))
        number = self.number(name)
        if number is None or not number.is_integer():
            raise self.refused(name, shown(self.data[name]), "a whole number from 0")
        return int(number)

    def number(self, name: str) -> float | None:
        """A number from 0; None where the file has none."""
        value = self.data.get(name)
        if value is None or value != value:  # noqa: PLR0124 - NaN: nothing was there to take a mean of
            return None
        number = finite(value)
        if number is None or number < 0:
            raise self.refused(name, shown(value), "a number from 0")
        return number

    def refused(self, where: str, what: str, known: str) -> ServingSimError:
        """The error for a field."""
        return ServingSimError(f"{where}: {what}", known=known, path=str(self.path))
