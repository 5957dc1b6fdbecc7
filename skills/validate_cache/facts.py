"""What a validation saw, before anything is concluded from it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from skills.report import Part
from skills.request import SkillRequest
from skills.validate_cache.probe import Probe  # noqa: TC001 - a field, which pydantic reads

MAX_PROBES = 500


class CacheRequest(SkillRequest):
    """Input of validate_cache."""

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="kernel kind")
    config: dict[str, Any] = Field(description="the kind's Config; gpu_name: device key, cpu or gpu (here)")
    truth: Literal["measure", "holdout"] = Field(
        "measure", description="measure here, or rows held out of the fit"
    )
    bar: float = Field(0.15, gt=0, le=10, description="allowed |ratio|, log-symmetric")
    within_rate: float = Field(0.9, ge=0, le=1, description="share that must keep it")
    share: float | None = Field(None, ge=0, le=1, description="of iteration time: sets the depth")
    compare_cache: str = Field("", description="a second cache kind")
    db: str = Field("", description="rows of the fit; default: the server's")
    fill: bool = Field(False, description="measure missing grid rows into db first")
    probes: list[dict[str, Any]] = Field(
        [], max_length=MAX_PROBES, description="Inputs to probe; empty: chosen"
    )
    max_probes: int | None = Field(None, ge=4, le=MAX_PROBES, description="default: by share")
    backends: list[str] = Field([], max_length=16, description="candidates; default: the Config's")
    threads: int | None = Field(None, ge=1, le=4096, description="of a CPU")
    measure_s: float = Field(60, gt=0, le=3600, description="time for measuring truths")
    seed: int = Field(0, ge=0, le=2**31)


class Table(Part):
    """Rows that were fitted."""

    backend: str
    rows: int
    noise_cv: float | None
    source: str


class Untouched(Part):
    """The user's database before and after."""

    path: str
    before: str = Field(description="sha256")
    after: str = Field(description="sha256")
    note: str = ""


class Facts(Part):
    """What was asked of whom, and every probe."""

    request: CacheRequest
    config: dict[str, Any] = Field(description="as resolved, device key included")
    device: str
    table: str = Field(description="the profiler's kind that the rows are of")
    cache: str
    quantised: bool = Field(description="whether the cache answers with the next size up")
    axes: list[str]
    unreachable: dict[str, str] = Field(description="sides of an axis where no shape exists, and why")
    grid_points: int = Field(description="of the kind's sweep grid")
    grid_missing: int = Field(description="of these, without a row")
    tables: list[Table]
    depth: Literal["quick", "standard", "deep"]
    database: Untouched
    truth_db: str = Field(description="where the truths are")
    commands: list[str] = Field(description="that were run, or are to be run for what is missing")
    csv_path: str
    csv_sha256: str
    probes: list[Probe] = Field(max_length=MAX_PROBES)
