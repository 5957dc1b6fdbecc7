"""Drawn traffic, the same to the bit for the same seed: lengths, gaps and prefixes come from streams of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.workload.contract import Workload
from servingsim.sim.workload.spec import DEFAULT_REQUESTS

if TYPE_CHECKING:
    from servingsim.sim.workload.spec import Arrivals, Lengths, Prefixes, WorkloadSpec
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray

PROMPTS, OUTPUTS, GAPS, GROUPS = range(4)


def stream(seed: int, place: int) -> np.random.Generator:
    """A stream of its own for each thing that is drawn: another one more or less changes no other."""
    return np.random.Generator(np.random.PCG64([seed, place]))


def drawn(spec: WorkloadSpec) -> Workload:
    """Draw the requests that a spec without a file describes."""
    if spec.prompt is None or spec.output is None:
        raise TypeError("the spec has no lengths: its validator asks for them")
    count = spec.requests or DEFAULT_REQUESTS
    prompts, outputs, groups = (stream(spec.seed, place) for place in (PROMPTS, OUTPUTS, GROUPS))
    prompt, output = lengths(spec.prompt, count, prompts), lengths(spec.output, count, outputs)
    keys, key_start, key_count = shared(spec.prefixes, prompt, groups)
    return Workload(
        name=told(spec.arrivals),
        source=f"drawn with seed {spec.seed}: {_described(spec)}",
        arrival_ms=arrivals_ms(spec.arrivals, count, stream(spec.seed, GAPS)),
        prompt=prompt,
        output=output,
        level=np.zeros(count, dtype=np.int64),
        keys=keys,
        key_start=key_start,
        key_count=key_count,
        key_tokens=spec.prefixes.key_tokens if spec.prefixes else 0,
    )


def lengths(spec: Lengths, count: int, rng: np.random.Generator) -> IntArray:
    """Whole tokens. The mean of a log-normal is the mean asked for, before it is cut to the least and the most."""
    if spec.kind == "fixed":
        values = np.full(count, float(spec.mean))
    elif spec.kind == "uniform":
        half = min(spec.spread, 1.0) * spec.mean
        values = rng.uniform(spec.mean - half, spec.mean + half, count)
    else:
        values = rng.lognormal(np.log(spec.mean) - spec.spread**2 / 2, spec.spread, count)
    tokens: IntArray = np.clip(np.rint(values), spec.least, spec.most).astype(np.int64)
    return tokens


def arrivals_ms(spec: Arrivals, count: int, rng: np.random.Generator) -> FloatArray:
    """Arrivals from 0, ascending; infinite where a request of a closed loop waits for its turn."""
    if spec.kind == "closed":
        times_ms = np.full(count, np.inf)
        times_ms[: spec.size] = 0.0
        return times_ms
    mean_ms = 1e3 / spec.rate_per_s if spec.rate_per_s else 0.0
    if spec.kind == "burst" and not mean_ms:
        return np.zeros(count)
    if spec.kind == "burst":
        return (np.arange(count) // spec.size * (mean_ms * spec.size)).astype(np.float64)
    if spec.kind == "constant":
        return np.arange(count, dtype=np.float64) * mean_ms
    shape = spec.cv**-2 if spec.kind == "gamma" else 1.0
    gaps = rng.gamma(shape, mean_ms / shape, count)
    return np.concatenate([[0.0], np.cumsum(gaps[1:])])


def stretched(workload: Workload, rate_per_s: float) -> Workload:
    """The same requests with their arrivals stretched to a mean rate, gaps in proportion.

    Raises:
        ServingSimError: They all arrive at once.
    """
    span_ms = float(workload.arrival_ms[-1])
    if span_ms == 0:
        raise ServingSimError(
            f"all {len(workload)} requests of {workload.name!r} arrive at once: no gaps to stretch to "
            f"{rate_per_s:g} a second",
            hint="give the kind of arrivals too (poisson, gamma, constant), which then replace the file's",
        )
    wanted_ms = (len(workload) - 1) / rate_per_s * 1e3
    return replace(
        workload,
        arrival_ms=workload.arrival_ms * (wanted_ms / span_ms),
        source=f"{workload.source}; arrivals stretched to {rate_per_s:g} a second",
    )


def shared(
    spec: Prefixes | None, prompt: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Keys of every request's shared beginning, where they begin, and how many there are."""
    nothing = np.zeros(len(prompt), dtype=np.int64)
    if spec is None:
        return np.zeros(0, dtype=np.int64), nothing, nothing
    weights = np.arange(1, spec.groups + 1, dtype=np.float64) ** -spec.zipf
    group = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(len(prompt)), side="right")
    group = np.minimum(group, spec.groups - 1)
    pieces = spec.tokens // spec.key_tokens
    count = np.minimum(prompt // spec.key_tokens, pieces)
    # Keys of a group stand once in the table; a shorter prompt uses the first ones of them.
    used, place = np.unique(group, return_inverse=True)
    keys = (used[:, None] * max(pieces, 1) + np.arange(pieces)).ravel().astype(np.int64)
    return keys, (place * pieces).astype(np.int64), count.astype(np.int64)


def told(spec: Arrivals) -> str:
    """What is asked for, in a few words: also the name of the traffic."""
    rate = f" {spec.rate_per_s:g}/s" if spec.rate_per_s is not None else ""
    if spec.kind == "closed":
        return f"closed loop of {spec.size} users"
    if spec.kind == "burst":
        return f"bursts of {spec.size}{rate}" if rate else "all at once"
    return f"{spec.kind or 'poisson'}{rate}" + (f" cv {spec.cv:g}" if spec.kind == "gamma" else "")


def _described(spec: WorkloadSpec) -> str:
    parts = [
        f"{name} {part.kind} {part.mean}"
        for name, part in (("prompt", spec.prompt), ("output", spec.output))
        if part
    ]
    if spec.prefixes:
        parts.append(f"{spec.prefixes.groups} shared beginnings of {spec.prefixes.tokens} tokens")
    return ", ".join([*parts, told(spec.arrivals)])
