"""The JSON answers that commands build as plain data, described for programs that read them.

Reports that are pydantic models where they are made (`PredictReport` and its like) are not repeated here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from servingsim.errors import ErrorCode

Spec = dict[str, int | float | str]
Origin = Literal["measured", "imported", "estimated"]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ErrorFacts(_Answer):
    """What was wrong, what is known, what to do next."""

    code: ErrorCode = Field(description="closed set, stable for programs")
    message: str = Field(description="one sentence with the offending value")
    known: str = Field(description="what would have been accepted, or empty")
    hint: str = Field(description="the next step, or empty")
    path: str = Field(description="the file or field that the fault lies in, or empty")
    where: str = Field("", description="with `kernel-query --lines`: the line; absent elsewhere")


class ErrorAnswer(_Answer):
    """A refusal where JSON is wanted; the exit code is 2."""

    error: ErrorFacts


class ListedKernel(_Answer):
    """One kind and backend of `python -m profiling list --json`."""

    kind: str
    backend: str | None = Field(description="null where nothing runs the kind and rows can only be imported")
    args: list[str] = Field(description="args fields in order: database key, runner keywords, spec keys")
    family: Literal["compute", "memory", "attention", "collective"]
    dtype_fields: dict[str, str] = Field(description="args fields that hold a dtype, by role: compute, kv")
    devices: list[str] = Field(description="device types that the backend runs on")
    compute_dtypes: list[str]
    kv_dtypes: list[str] = Field(description="empty where the kind has no KV dtype")
    requires: list[str] = Field(description="modules that have to be importable")
    runnable: bool = Field(description="whether it runs on this machine")
    reason: str = Field(description="why not, or empty")
    rows: int = Field(description="rows in the store of --db; 0 without it")
    smoke: Spec = Field(description="a small spec that every backend of the kind can run")


class ListAnswer(RootModel[list[ListedKernel]]):
    """`python -m profiling list --json`."""


class StoredRow(BaseModel):
    """One row of the store. Beside these fields it holds the args of its kind."""

    model_config = ConfigDict(extra="allow", frozen=True)

    device: str = Field(description="device key")
    backend: str = Field(description="what ran the kernel")
    median_ms: float = Field(description="time of one launch, ms")
    p10_ms: float | None = Field(description="10th percentile of the samples, ms; null where unknown")
    p90_ms: float | None = Field(description="90th percentile of the samples, ms; null where unknown")
    cv: float | None = Field(
        description="spread of the samples over their mean, of imported rows that of their repeats; "
        "null where unknown"
    )
    samples: int
    outlier: bool = Field(description="whether the samples cannot be trusted")
    outlier_reason: str = Field(description="why, or empty")
    origin: Origin
    framework: str
    framework_version: str
    driver: str
    libraries: dict[str, str]
    source: str = Field(description="where the row comes from")
    measured_at: str = Field(description="ISO 8601, or empty where it is unknown")


class QueryAnswer(_Answer):
    """`python -m profiling query --json`."""

    kind: str
    rows: list[StoredRow]
    more: bool = Field(description="whether --limit cut rows off")


class CountMissingAnswer(_Answer):
    """`python -m profiling count-missing --json`."""

    kind: str
    device: str
    requested: int = Field(description="distinct specs that were asked for")
    missing: dict[str, int] = Field(description="specs without a row, by backend")
    first_missing: dict[str, list[Spec]] = Field(description="the first of them, by backend")


class Device(_Answer):
    """A device and its physical limits. Zero or empty means unknown."""

    name: str = Field(description="device key")
    type: Literal["cpu", "cuda"]
    memory_bytes: int
    peak_flops: dict[str, float] = Field(description="FLOP/s by dtype")
    memory_bytes_per_s: float
    link_bytes_per_s: float = Field(description="to another device, one direction")
    last_level_cache_bytes: int
    multiprocessors: int
    threads: int = Field(description="threads that CPU kernels are pinned to; 0 for a GPU")
    driver: str
    libraries: dict[str, str]
    limits_origin: str = Field(description="measured, datasheet, unknown, or the name of a source")
    source: str
    measured_at: str


class DeviceHere(Device):
    """A device of this machine."""

    free_memory_bytes: int


class StoredDevice(Device):
    """A device of the store."""

    rows: int = Field(description="rows of all kinds")


class DevicesAnswer(_Answer):
    """`python -m profiling devices --json`."""

    here: list[DeviceHere]
    stored: list[StoredDevice]


class DescribedKind(_Answer):
    """One kind of a kernel-query `list`."""

    kind: str
    profile_table: str = Field(description="the profiler's kind whose rows are read")
    args_fields: list[str]
    axes: list[str] = Field(description="swept args fields, outermost first")
    cache: str
    dtype_tags: dict[str, str] = Field(description="Config fields that hold a dtype, by role")
    interpolated: list[str] = Field(description="fixed args fields that are interpolated over")
    config: dict[str, Any] = Field(description="JSON schema of the Config")
    input: dict[str, Any] = Field(description="JSON schema of the Input")


class KernelListAnswer(_Answer):
    """`kernel-query` with op `list`."""

    op: Literal["list"]
    kinds: list[DescribedKind]


class GridExample(_Answer):
    """One grid point."""

    payload: Spec = Field(description="args to measure, without the backend")
    input: dict[str, Any] = Field(description="the Input that the point stands for")


class GridAnswer(_Answer):
    """`kernel-query` with op `grid`."""

    op: Literal["grid"]
    kind: str
    profile_table: str
    config: dict[str, Any] = Field(description="the Config with its defaults filled in")
    input_fields: list[str]
    grid_axes: dict[str, list[int]]
    feasible_count: int = Field(description="points after the mask, before backends")
    feasible_limit: int
    args_fields: list[str]
    cache: str
    dtype_tags: dict[str, str]
    example: GridExample


class ProvenanceFacts(_Answer):
    """Who measured rows, with what."""

    origin: Origin
    device: str
    backend: str
    framework: str
    version: str
    source: str
    measured_at: str


class TableFacts(_Answer):
    """One candidate backend's rows."""

    backend: str
    rows: int
    untrusted_rows: int = Field(description="marked as outliers: left out where the others reach as far")
    noise_median: float | None
    provenance: ProvenanceFacts
    donors: list[dict[str, float]] = Field(description="shapes whose rows were interpolated; empty: its own")


class EvalResult(_Answer):
    """The answer for one Input."""

    input: dict[str, Any]
    coordinates: dict[str, float] = Field(description="the Input on the axes of the cache")
    time_ms: float
    error_percent: float | None = Field(
        description="half width of time_ms' 90 % interval; null where unknown"
    )
    limit_ms: float | None = Field(description="no launch on the device is faster, ms")
    flops: float | None
    bytes: float | None
    coverage: list[Literal["EXTRAPOLATED", "JIT", "NO_COVERAGE"]]
    backend: str | None = Field(description="the backend picked; null for an estimate")
    backend_times_ms: dict[str, float | None] = Field(description="what the pick was made from")


class EvalAnswer(_Answer):
    """`kernel-query` with op `eval`."""

    op: Literal["eval"]
    kind: str
    config: dict[str, Any]
    tables: list[TableFacts]
    estimate: ProvenanceFacts | None = Field(description="null where no answer was estimated")
    results: list[EvalResult] = Field(description="in the order of the inputs")


class BenchFigures(RootModel[dict[str, float]]):
    """`build/bench.json`: figure name to value."""
