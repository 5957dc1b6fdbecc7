"""One measured kernel time with everything needed to judge it: the unit that runners make and the store keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.source import ArgValue, Origin


@dataclass(frozen=True)
class Timing:
    """Statistics of the samples of one shape, in milliseconds a launch.

    `cv` is the coefficient of variation of the samples (for imported rows: the relative spread of duplicate keys,
    NaN where there is no duplicate). `outlier` marks a row whose samples cannot be trusted, with the reason.
    """

    median_ms: float
    p10_ms: float
    p90_ms: float
    cv: float
    samples: int
    outlier: bool = False
    outlier_reason: str = ""


@dataclass(frozen=True)
class Origins:
    """Provenance shared by the rows of one run or import."""

    origin: Origin
    device: str
    backend: str
    framework: str
    framework_version: str
    driver: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    measured_at: str = ""


@dataclass(frozen=True)
class MeasuredRow:
    """A row of the store: unique on (device, backend, args) within its kind's table."""

    kind: str
    args: Mapping[str, ArgValue]
    timing: Timing
    origins: Origins
