"""The necessary work of a whole run: what its tokens had to compute and move, by the independent accountant.

The accountant judges one iteration. Its count is a sum over parts, so asking it for a few iterations of one kind gives
what a token, a sampled position, a chunk and a decode step need; how often the loop had each is in its `Visits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import OF_SAMPLES, OF_TOKENS
from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from servingsim.bounds.dense import Bound
    from servingsim.sim.loop.state import Visits
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.views import ModelView
    from servingsim.timing.source import DeviceSpec, FloatArray

MANY = 2**19
"""Tokens of an iteration that touches every weight."""
POINTS_PER_OCTAVE = 8


@dataclass(frozen=True)
class Floor:
    """Times of one rank of the whole model, all replicas of a pool together, ms.

    Attributes:
        compute_ms: FLOPs of all iterations at the peak.
        memory_ms: Bytes of all iterations at the memory's rate, weights in each.
        once_ms: The least of any schedule: the larger of compute, and bytes with each replica's weights once.
        formed_ms: Of the iterations as formed, each part (linear layers, head, attention of either phase) at its own
            roofline, one after the other.
    """

    compute_ms: float
    memory_ms: float
    once_ms: float
    formed_ms: float


def floor_of(pool: PoolModel, index: int, visits: Visits) -> Floor | None:
    """Necessary work of a pool's iterations; None where the device's peaks are unknown."""
    device = pool.built.site.source.device(pool.pool.device)
    if pool.built.view.bound(Batch.of(decode=[1]), device) is None:
        return None
    asked = _Accountant(pool.built.view, device)
    parts = [
        _linear(asked, visits.counts[index, OF_TOKENS]),
        _head(asked, visits.counts[index, OF_SAMPLES]),
        _decode(asked, pool, visits.decode[index]),
        _prefill(asked, pool, visits.prefill[index]),
    ]
    compute_ms = sum(part.compute_ms for part in parts)
    memory_ms = sum(part.memory_ms for part in parts)
    again_ms = sum(part.weights_ms for part in parts) - pool.pool.replicas * (
        asked.weights_ms(MANY) + asked.head_ms[1]
    )
    return Floor(
        compute_ms=compute_ms,
        memory_ms=memory_ms,
        once_ms=max(compute_ms, memory_ms - max(again_ms, 0.0)),
        formed_ms=sum(part.formed_ms for part in parts),
    )


@dataclass(frozen=True)
class _Part:
    """Of all iterations: compute, bytes, those of weights among them, and the sum of each launch's larger one."""

    compute_ms: float
    memory_ms: float
    formed_ms: float
    weights_ms: float = 0.0


class _Accountant:
    """Questions to the accountant, in terms of what the loop counted."""

    def __init__(self, view: ModelView, device: DeviceSpec) -> None:
        self._view, self._device = view, device
        self.token_ms = self._ask(prefill=[(1, 0, False)]).compute_ms
        """Compute of one new token without a past."""
        self.token_bytes_ms = (self.tokens_ms(MANY) - self.tokens_ms(MANY // 2)) / (MANY // 2)
        """Bytes of one new token beside the weights."""
        plain, sampled = self._ask(prefill=[(1, 0, False)]), self._ask(prefill=[(1, 0, True)])
        self.head_ms = sampled.compute_ms - plain.compute_ms, sampled.memory_ms - plain.memory_ms
        """Compute and bytes of one sampled position."""

    def tokens_ms(self, tokens: int) -> float:
        """Bytes of an iteration of new tokens without a past: weights, and what each token writes."""
        return self._ask(prefill=[(tokens, 0, False)]).memory_ms

    def weights_ms(self, tokens: int) -> float:
        """Bytes of the weights that so many tokens need: of routed experts only those that are touched."""
        return self.tokens_ms(tokens) - tokens * self.token_bytes_ms

    def decode_ms(self, kv_len: int) -> tuple[float, float]:
        """Compute and bytes of one decode step beyond those of its token."""
        one, two = self._ask(decode=[kv_len]), self._ask(decode=[kv_len, kv_len])
        more_ms = self.tokens_ms(2) - self.tokens_ms(1)
        compute_ms = one.compute_ms - self.token_ms - self.head_ms[0]
        return compute_ms, max(two.memory_ms - one.memory_ms - more_ms, 0.0)

    def chunk_ms(self, new: int, prefix: int) -> tuple[float, float]:
        """Compute and bytes of one prefill chunk beyond those of its tokens."""
        chunk = (new, prefix, False)
        one, two = self._ask(prefill=[chunk]), self._ask(prefill=[chunk, chunk])
        more_ms = self.tokens_ms(2 * new) - self.tokens_ms(new)
        compute_ms = one.compute_ms - new * self.token_ms
        return compute_ms, max(two.memory_ms - one.memory_ms - more_ms, 0.0)

    def _ask(
        self, *, prefill: list[tuple[int, int, bool]] | None = None, decode: list[int] | None = None
    ) -> Bound:
        bound = self._view.bound(Batch.of(prefill=prefill or (), decode=decode or ()), self._device)
        if bound is None:
            raise ServingSimError(
                f"{self._device.name}: peaks that are known for some iterations only", code="E_STATE"
            )
        return bound


def _linear(asked: _Accountant, visits: FloatArray) -> _Part:
    """What every token passes, by the number of new tokens."""
    tokens = np.flatnonzero(visits)
    tokens = tokens[tokens > 0]
    if len(tokens) == 0:
        return _Part(0.0, 0.0, 0.0)
    octaves = np.log2(tokens[-1]) + 1
    points = np.unique(
        np.round(2 ** (np.arange(octaves * POINTS_PER_OCTAVE) / POINTS_PER_OCTAVE)).astype(int)
    )
    weights = np.interp(tokens, points, [asked.weights_ms(int(each)) for each in points])
    times, compute = visits[tokens], tokens * asked.token_ms
    memory = weights + tokens * asked.token_bytes_ms
    return _Part(
        float(times @ compute),
        float(times @ memory),
        float(times @ np.maximum(compute, memory)),
        float(times @ weights),
    )


def _head(asked: _Accountant, visits: FloatArray) -> _Part:
    """The logits, by the number of sampled positions."""
    samples = np.arange(len(visits))[1:]
    times, (compute_ms, memory_ms) = visits[1:], asked.head_ms
    formed = np.maximum(samples * compute_ms, memory_ms)
    read_ms = float(times.sum()) * memory_ms
    return _Part(float(times @ samples) * compute_ms, read_ms, float(times @ formed), read_ms)


def _decode(asked: _Accountant, pool: PoolModel, visits: FloatArray) -> _Part:
    """Attention of decode steps, by their length."""
    axes = pool.prices.axes
    requests = axes.batch @ visits[: len(axes.batch), : len(axes.kv)]
    seen = np.flatnonzero(requests)
    found = [asked.decode_ms(max(round(float(axes.kv[place])), 1)) for place in seen]
    return _launches(requests[seen], found)


def _prefill(asked: _Accountant, pool: PoolModel, visits: FloatArray) -> _Part:
    """Attention of prefill chunks, by new tokens and prefix. A visit is a chunk's share of a launch of its like."""
    axes = pool.prices.axes
    table = visits[: len(axes.batch), : len(axes.chunk), : len(axes.prefix)]
    requests = np.tensordot(axes.batch, table, axes=1)
    seen = np.argwhere(requests)
    found = [asked.chunk_ms(int(axes.chunk[chunk]), int(axes.prefix[prefix])) for chunk, prefix in seen]
    return _launches(requests[tuple(seen.T)], found)


def _launches(times: FloatArray, found: list[tuple[float, float]]) -> _Part:
    each = np.array(found).reshape(-1, 2)
    return _Part(
        float(times @ each[:, 0]), float(times @ each[:, 1]), float(times @ each.max(axis=1, initial=0.0))
    )
