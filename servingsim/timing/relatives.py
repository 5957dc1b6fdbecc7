"""The same launch under another name: Configs whose rows stand for rows of this one.

Half the heads with twice the requests are as many blocks over as many keys: attention of 16 heads at a batch of 64 is
launched like that of 32 heads at a batch of 32. A kind says so as `Relatives`; rows of such Configs then fill in shapes
that a Config was not measured at, and answer for Configs that were never measured. What a relative says is corrected
by how far it is off where both were measured, and weighed against what the Config's own neighbouring rows say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.timing.residuals import between_residuals

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

IntArray = npt.NDArray[np.int64]

FURTHEST = 4.0
"""Factor between two launches' coordinates beyond which one says nothing about the other."""
SPREAD_PER_OCTAVE = 0.12
"""Standard deviation, on a log scale, of a relative that nothing is known of, for a doubling between the two.

It grows with the root of the doublings.
"""
TREND = 0.5
"""Share of what relatives say of each other that is believed of a Config without rows."""
UNKNOWN_SPREAD = 1.0
"""Likewise of a Config's own rows where no line has three of them."""
LEAST_SPREAD = 0.01
"""No relative is truer than a repeated measurement."""
FEWEST_COMMON = 4
"""Shapes that several were measured at, before what they differ by is believed."""
OWN_SHARE = 0.7
"""What is left of a residual over twice the spacing where the spacing is the table's own."""
REACH = 3
"""Octaves over which what relatives differ by is taken together."""

Place = Callable[[Mapping[str, float], Mapping[str, float]], "float | None"]


@dataclass(frozen=True)
class Relatives:
    """Which other Configs launch the same.

    Attributes:
        fields: Fixed args fields, of numbers, in which relatives differ.
        axis: The swept field that makes up for it.
        factor: From the fields of this Config and of another: what the other's axis is multiplied with to become
            this one's; None for no relative.
    """

    fields: tuple[str, ...]
    axis: str
    factor: Place

    @classmethod
    def scaled(cls, fields: tuple[str, ...], axis: str) -> Relatives:
        """All fields so many times as large stand for the axis so many times as large."""

        def factor(own: Mapping[str, float], other: Mapping[str, float]) -> float | None:
            ratios = {other[name] * own[fields[0]] == own[name] * other[fields[0]] for name in fields}
            return other[fields[0]] / own[fields[0]] if ratios == {True} else None

        return cls(fields, axis, factor)


class Relative(NamedTuple):
    """Another Config's rows at this one's coordinates, and the factor between them."""

    coords: FloatArray
    time_ms: FloatArray
    factor: float


class Filled(NamedTuple):
    """Points that no row of the Config itself gave.

    Attributes:
        coords: Where [points, axes].
        time_ms: What relatives, and the Config's own rows around them, say.
        spread: Standard deviation of each, on a log scale.
        compared: Whether shapes that several were measured at say how far relatives lie apart.
    """

    coords: FloatArray
    time_ms: FloatArray
    spread: FloatArray
    compared: bool


def fill(
    own: FloatArray,
    own_ms: FloatArray,
    own_work_ms: FloatArray,
    relatives: list[Relative],
    axis: int,
    read: Callable[[FloatArray], FloatArray],
) -> Filled:
    """Points at shapes that only relatives were measured at.

    Args:
        own: Coordinates of the Config's own rows [points, axes]; none for a Config without.
        own_ms: Their times [points].
        own_work_ms: Their necessary work [points].
        relatives: The others.
        axis: Along which own and relatives lie apart.
        read: What the own rows alone say at coordinates; NaN where these lie outside them.
    """
    said, compared = _said(own, own_ms, relatives, axis)
    if len(own) and not compared:
        # Nothing says how far the relatives are off: the Config's own rows are read alone.
        return Filled(own[:0], own_ms[:0], own_ms[:0], compared)
    if len(own) and len(said.spots):
        own_ms_there = read(said.spots)
        inside = np.isfinite(own_ms_there)
        said = _Said(*(each[inside] for each in said))
        said = _with_own(said, np.log(own_ms_there[inside]), _own_spread(own, own_ms, own_work_ms, axis))
    # What is wrong with one relative is wrong with the next: many of them are no surer than one.
    spread = np.hypot(np.sqrt(said.voices / said.weight), said.doubt)
    return Filled(said.spots, np.exp(said.total / said.weight), spread, compared)


def each_from_the_others(relatives: list[Relative], axis: int) -> FloatArray:
    """log(said / measured) of the rows of each relative, as said by the others of a Config without rows of its own.

    Args:
        relatives: At one Config's coordinates.
        axis: Along which they lie apart.
    """
    off = [np.empty(0)]
    for one in relatives:
        others = [
            each._replace(factor=each.factor / one.factor)
            for each in relatives
            if each is not one and 1 / FURTHEST <= each.factor / one.factor <= FURTHEST
        ]
        if not others:
            continue
        said, _ = _said(one.coords[:0], one.time_ms[:0], others, axis)
        known = {
            tuple(spot): log for spot, log in zip(said.spots.tolist(), said.total / said.weight, strict=True)
        }
        off.append(
            np.array(
                [
                    known[spot] - np.log(time_ms)
                    for spot, time_ms in zip(map(tuple, one.coords.tolist()), one.time_ms, strict=True)
                    if spot in known
                ]
            )
        )
    return np.concatenate(off)


class _Said(NamedTuple):
    """What is said of shapes without a row of the Config's own: weighted logs of times.

    Attributes:
        spots: The shapes [shapes, axes].
        voices: How many say something.
        weight: Sum of the weights, each one over its variance.
        total: Sum of the weighted logs.
        doubt: Standard deviation that the part of a trend adds which is not believed; 0 where relatives lie around.
    """

    spots: FloatArray
    voices: FloatArray
    weight: FloatArray
    total: FloatArray
    doubt: FloatArray


def _said(own: FloatArray, own_ms: FloatArray, relatives: list[Relative], axis: int) -> tuple[_Said, bool]:
    """By the relatives, and whether it is known how far they lie apart."""
    coords = np.concatenate([own, *(each.coords for each in relatives)])
    logs = np.log(np.concatenate([own_ms, *(each.time_ms for each in relatives)]))
    lengths = [len(own), *(len(each.coords) for each in relatives)]
    octaves = np.repeat([0.0, *(float(np.log2(each.factor)) for each in relatives)], lengths)
    every, index = np.unique(coords, axis=0, return_inverse=True)
    index = index.ravel()
    slope, spread, compared = _slope(every, index, octaves, logs, axis)
    # With no row of its own a Config often lies beyond all relatives: half of a trend is safer than all of it.
    believed = 1.0 if len(own) else TREND
    trend, slope = slope, believed * slope
    new = np.bincount(index[: len(own)], minlength=len(every)) == 0
    theirs = np.arange(len(coords)) >= len(own)
    weight = theirs / (spread**2 * np.abs(octaves) + LEAST_SPREAD**2)
    voices, whole, total, apart = (
        np.bincount(index, each, len(every))[new]
        for each in (theirs, weight, weight * (logs - slope[index] * octaves), weight * octaves)
    )
    doubt = np.abs((1.0 - believed) * trend[new] * apart / whole)
    return _Said(every[new], voices, whole, total, doubt), compared


def _with_own(said: _Said, own_logs: FloatArray, own_spread: float) -> _Said:
    """What the Config's own rows say of the same shapes, weighed in."""
    certain = 1.0 / own_spread**2
    weight, total = said.weight + certain, said.total + certain * own_logs
    return said._replace(voices=said.voices + 1, weight=weight, total=total)


def _slope(
    every: FloatArray, index: IntArray, octaves: FloatArray, logs: FloatArray, axis: int
) -> tuple[FloatArray, float, bool]:
    """How the log of time changes with each octave between Configs, and how sure that is.

    Shapes that several were measured at, this Config or relatives, say so; the others take it from those around them.

    Args:
        every: Distinct coordinates [shapes, axes].
        index: Shape of each row [rows].
        octaves: Between each row's Config and this one [rows].
        logs: Of the rows' times [rows].
        axis: Along which the Configs' launches differ.
    """
    count = np.maximum(np.bincount(index, minlength=len(every)), 1)
    apart = octaves - (np.bincount(index, octaves, len(every)) / count)[index]
    longer = logs - (np.bincount(index, logs, len(every)) / count)[index]
    across = np.bincount(index, apart**2, len(every))
    known = np.flatnonzero(across > 1e-9)
    if len(known) < FEWEST_COMMON:
        return np.zeros(len(every)), SPREAD_PER_OCTAVE, False
    seen = np.bincount(index, apart * longer, len(every))[known] / across[known]
    near = _nearness(every[known], every[known])
    # Rows of one launch size are off together: how sure a shape is foretold only those of other sizes can say. On
    # H200 (vLLM) two Configs that share one batch size agreed on it at every length, and nowhere else.
    near[every[known, axis][:, None] == every[known, axis]] = 0.0
    around = _weighted(near, seen)
    # As much of what lies around a shape as it foretells of the shape itself.
    size = float(around @ around)
    share = min(max(float(seen @ around) / size, 0.0), 1.0) if size > 0 else 0.0
    foretold = np.zeros(len(every))
    foretold[known] = share * around
    # Two rows of a shape differ by what was foretold and by what each has of its own.
    own = np.where(across[index] > 1e-9, longer - foretold[index] * apart, 0.0)
    pairs = float((count[known] - 1).sum())
    octave = 2 * float(np.abs(apart[across[index] > 1e-9]).mean())
    spread = float(np.sqrt(2 * (own @ own) / pairs / octave))
    return share * _weighted(_nearness(every, every[known]), seen), spread, True


def _nearness(asked: FloatArray, known: FloatArray) -> FloatArray:
    """Weights of known points at others, by their distance in octaves: [asked, known]."""
    ours, theirs = (np.log2(1.0 + each) for each in (asked, known))
    distance = np.zeros((len(ours), len(theirs)))
    for mine, its in zip(ours.T, theirs.T, strict=True):
        distance += (mine[:, None] - its) ** 2
    nearness: FloatArray = (distance + REACH**2) ** -2.0
    return nearness


def _weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Means of the values; 0 where none has a weight."""
    whole = weights.sum(axis=1)
    mean: FloatArray = np.divide(weights @ values, whole, out=np.zeros(len(whole)), where=whole > 0)
    return mean


def _own_spread(own: FloatArray, own_ms: FloatArray, own_work_ms: FloatArray, axis: int) -> float:
    """How far the Config's own rows are off between two of them, along the axis."""
    residuals = between_residuals(own, own_ms, own_work_ms, axis)
    known = residuals[np.isfinite(residuals)]
    size = OWN_SHARE * float(np.sqrt(np.mean(known**2))) if len(known) else UNKNOWN_SPREAD
    return float(np.hypot(size, LEAST_SPREAD))
