"""Attention of a capture: few launches, each over other lengths, as what a launch takes and at which rate it goes on.

A capture holds a handful of batches, attention has two or three axes. One launch costs a constant, its prefills by
their FLOPs and its decodes by their bytes: three figures, fitted on all launches of one geometry, mixed ones among
them. Rows of a grid are written from them; they are estimates and say so.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.registry import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from servingsim.sim.truth.iterations import Iteration

LENGTHS = (1, 16, 64, 256, 1024, 4096, 16384)
PREFIXES = (0, 64, 256, 1024, 4096, 16384)
BATCHES = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class AttentionLaunch:
    """One launch: what it computed, and what it took."""

    batch: Iteration
    time_ms: float


@dataclass(frozen=True)
class AttentionRates:
    """What attention of one geometry costs.

    Attributes:
        launch_ms: Of a launch, whatever is in it.
        ms_per_flop: Of prefills.
        ms_per_byte: Of decodes.
    """

    launch_ms: float
    ms_per_flop: float
    ms_per_byte: float


def attention_rates(
    launches: Sequence[AttentionLaunch], geometry: Mapping[str, Any]
) -> AttentionRates | None:
    """Fit the rates, none below 0; None without a launch.

    Args:
        launches: Of one geometry, each the typical one of its step.
        geometry: Heads, head size, dtypes, window: args of both kinds that the model fixes.
    """
    if not launches:
        return None
    work = np.array([[1.0, *_work(each.batch, geometry)] for each in launches])
    time_ms = np.array([each.time_ms for each in launches])
    scale = np.where(work.max(axis=0) > 0, work.max(axis=0), 1.0)
    best, best_left = np.zeros(3), np.inf
    # All subsets of three figures: the least squares with none below 0. Relative, so that no step outweighs the others.
    for chosen in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        columns = (work / scale)[:, chosen] / time_ms[:, None]
        found = np.linalg.lstsq(columns, np.ones(len(time_ms)), rcond=None)[0]
        left = float(np.sum((columns @ found - 1) ** 2))
        if (found >= 0).all() and left < best_left - 1e-12:
            best, best_left = np.zeros(3), left
            best[list(chosen)] = found
    launch_ms, per_flop, per_byte = (best / scale).tolist()
    return AttentionRates(launch_ms, per_flop, per_byte)


def attention_rows(
    rates: AttentionRates, geometry: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Kind, args and milliseconds of a grid.

    A prefill is priced request by request: the constant of the launch is the decodes', or it would count several times.
    """
    prefill, decode = kinds()["attention_prefill"], kinds()["attention_decode"]
    if rates.ms_per_flop:
        for batch, new, cached in itertools.product(BATCHES[:2], LENGTHS, PREFIXES):
            args = {"batch_size": batch, "q_len": new, "prefix_len": cached, **geometry}
            yield prefill.name, args, float(prefill.work(**args).flops) * rates.ms_per_flop
    if rates.ms_per_byte or rates.launch_ms:
        for batch, keys in itertools.product(BATCHES, LENGTHS):
            args = {"batch_size": batch, "kv_len": keys, **geometry}
            yield (
                decode.name,
                args,
                rates.launch_ms + float(decode.work(**args).bytes_moved) * rates.ms_per_byte,
            )


def _work(batch: Iteration, geometry: Mapping[str, Any]) -> tuple[float, float]:
    """FLOPs of the prefills and bytes of the decodes of one launch."""
    prefill, decode = kinds()["attention_prefill"], kinds()["attention_decode"]
    flops = sum(
        float(prefill.work(batch_size=1, q_len=new, prefix_len=cached, **geometry).flops)
        for cached, new in batch.prefills
    )
    moved = sum(
        float(decode.work(batch_size=1, kv_len=cached + 1, **geometry).bytes_moved)
        for cached in batch.decodes
    )
    return flops, moved
