"""Values to measure along an axis: near-geometric, so that every octave costs the same few points.

Every point of a grid is a measurement that somebody waits for: an axis ends at the largest value that its
Config names (measured itself, so that the bound is inside the range) and has no value beyond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def up_to(maximum: int, values: Iterable[int]) -> tuple[int, ...]:
    """The values below `maximum`, but none within 2 % of it, then `maximum` itself."""
    return (*(value for value in sorted(set(values)) if 50 * value < 49 * maximum), maximum)


def powers(start: int, maximum: int, factor: int = 2) -> tuple[int, ...]:
    """`start`, `start·factor`, ... up to and including `maximum` where a power falls on it."""
    values = []
    while start <= maximum:
        values.append(start)
        start *= factor
    return tuple(values)


def evenly(start: int, maximum: int, count: int) -> tuple[int, ...]:
    """At most `count` values from `start` to `maximum` in equal ratios: for axes that multiply with many others."""
    if start >= maximum:
        return (maximum,)
    ratio = maximum / start
    return up_to(maximum, (round(start * ratio ** (step / (count - 1))) for step in range(count - 1)))


def matrix_rows(maximum: int) -> tuple[int, ...]:
    """Rows of a matrix product: 1, 2, 4, 8, then two values an octave (16, 24, 32, 48, ...).

    Tile and wave steps lie at multiples of tile heights; 3·2**n halves the distance to the next of them.
    """
    return up_to(maximum, (1, 2, 4, 8, *powers(16, maximum), *powers(24, maximum)))


def product_rows(maximum: int) -> tuple[int, ...]:
    """Rows of one matrix product: few where only its weight counts, then sizes with the row after, 40 to 32768.

    The row after a multiple of a tile's height opens a tile, and sometimes a wave: no line between multiples tells.
    Chosen on H200, H100 / TensorRT-LLM, B200 and A100 tables.
    """
    return up_to(
        maximum,
        (
            *(1, 4, 8, 16, 32, 64, 128, 129),
            *(row for full in (*range(160, 257, 32), *range(512, 1281, 256)) for row in (full, full + 1)),
            *(row for full in (*range(1792, 2561, 256), 3840, 4352) for row in (full, full + 1)),
            *(384, *powers(8192, maximum)),
        ),
    )


def streamed_tokens(maximum: int) -> tuple[int, ...]:
    """Tokens of a memory-bound kernel: 1, 4, 16, then one an octave (near linear in them)."""
    return up_to(maximum, (1, 4, *powers(16, maximum)))


def query_lengths(maximum: int) -> tuple[int, ...]:
    """New tokens of a prefill: 1, 16, then one an octave to 16384, then the maximum (work dominates)."""
    return up_to(maximum, (1, *powers(16, min(maximum, 16384))))


def prefix_lengths(maximum: int) -> tuple[int, ...]:
    """Cached tokens before a prefill: 0, 256, 1024, 4096, 16384, then every fourth octave from 131072."""
    return up_to(maximum, (0, *powers(256, min(maximum, 16384), 4), *powers(131072, maximum, 16)))


def kv_lengths(maximum: int) -> tuple[int, ...]:
    """Keys of a decode step: 1, 16, 64, then one an octave."""
    return up_to(maximum, (1, 16, *powers(64, maximum)))


def batch_sizes(maximum: int, factor: int = 2) -> tuple[int, ...]:
    """Requests: powers of `factor`, and the maximum."""
    return up_to(maximum, powers(1, maximum, factor))


def message_sizes(maximum: int) -> tuple[int, ...]:
    """Bytes of a message: one an octave from 1 KiB (below it only latency counts)."""
    return up_to(maximum, powers(1024, maximum))


def within_window(values: tuple[int, ...], window_size: int) -> tuple[int, ...]:
    """An axis over keys, thinned beyond an attention window: there the window, twice as much and the maximum are kept.

    A windowed kernel reads `window_size` keys however many there are, so the time is flat beyond the window; but where
    it ends, another path or another block begins (FlashAttention 3 on H100, window 128: 10 us up to it, 14 us from 256
    keys on), which the window alone does not show. Beside a window of 16384 keys and more such a step is small.
    """
    if window_size == 0:
        return values
    inside = (value for value in values if value < window_size)
    ends = (window_size, 2 * window_size) if window_size < 16384 else (window_size,)
    return up_to(values[-1], (*inside, *(min(end, values[-1]) for end in ends)))
