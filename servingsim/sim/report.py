"""What a prediction says: one iteration, op by op, with everything needed to judge it.

Field descriptions are the documentation of the JSON. Times are milliseconds, per rank; None means unknown.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.validated.match import ValidatedPart

HOST_NOT_MODELLED = "not modelled"


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Subject(_Report):
    """What was predicted."""

    model_type: str = Field(description="model_type of the config")
    parameters: int = Field(description="elements of all weights of the whole model")
    device: str = Field(description="device key whose rows were used")
    tp: int = Field(description="tensor-parallel ranks; every figure is for one of them")
    stack: str = Field(description="serving stack whose kernels and fusions were assumed")
    stack_version: str = Field(description="version of the stack whose imported rows were used, or empty")
    dtype: str = Field(description="dtype of activations and unquantised weights")
    gemm_dtype: str = Field(description="dtype of the layers' linear weights")
    kv_dtype: str = Field(description="dtype of the KV cache")


class BatchFacts(_Report):
    """The iteration."""

    prefill_requests: int = Field(description="requests with new prompt tokens")
    decode_requests: int = Field(description="requests with one new token each")
    new_tokens: int = Field(description="tokens computed in the iteration")
    context_tokens: int = Field(description="keys of all requests after the iteration")
    longest_context: int = Field(description="keys of the longest request after the iteration")


class RowSource(_Report):
    """Whose measurements priced an op."""

    backend: str = Field(description="backend picked: the fastest candidate at this shape")
    origin: str = Field(description="measured here, imported, or estimated")
    device: str = Field(description="device that was measured")
    framework: str = Field(description="framework that ran the kernel, or empty")
    version: str = Field(description="its version, or empty")
    source: str = Field(description="where the rows come from, or empty")
    measured_at: str = Field(description="when the newest of the rows was measured, or empty")
    noise: float | None = Field(description="median relative spread of the rows, None where unknown")
    untrusted: int = Field(
        description="rows whose samples were disturbed: left out where the others reach as far"
    )


class OpRow(_Report):
    """One op of the iteration, all its launches together."""

    op: str = Field(description="path in the model")
    kind: str = Field(description="kernel kind")
    launches: int = Field(description="launches in the iteration")
    time_ms: float = Field(description="time of all launches, ms")
    error_percent: float | None = Field(
        description="half width of the 90 % interval of time_ms, from how far the tables' own points are misread "
        "when left out; of an estimate, how far such estimates are off; None where unknown"
    )
    share: float = Field(description="part of kernels_ms, 0 to 1")
    flops: float = Field(description="FLOPs of all launches")
    bytes_moved: float = Field(description="bytes that all launches must read and write")
    tflop_per_s: float = Field(description="achieved rate, TFLOP/s")
    gb_per_s: float = Field(description="achieved rate, GB/s")
    limit_ms: float | None = Field(
        description="time at the device's peaks when every byte comes from memory or over the link, ms"
    )
    efficiency: float | None = Field(
        description="limit_ms / time_ms; above 1 where operands stay in the last-level cache"
    )
    coverage: list[str] = Field(description="EXTRAPOLATED, JIT, NO_COVERAGE; empty inside measured rows")
    rows: list[RowSource] = Field(description="whose rows priced it; several where requests differ")


class MissingRows(_Report):
    """Rows that would lift a coverage flag."""

    kind: str = Field(description="kernel kind")
    backend: str = Field(description="backend to measure with, empty where the stack names none")
    device: str = Field(description="device to measure on")
    count: int = Field(description="grid points without a row")
    ops: list[str] = Field(description="ops that would use them")
    specs: list[dict[str, Any]] = Field(
        description="their args; a list as a value is multiplied out, as `profiling run --spec` reads it"
    )
    command: str = Field(description="command that measures them on that device, empty where none can")


class Unpriced(_Report):
    """Something that the stack runs and the prediction leaves out."""

    name: str = Field(description="what")
    reason: str = Field(description="why it is left out")


class HostFacts(_Report):
    """What the host adds outside every kernel."""

    per_iteration_ms: float = Field(description="once an iteration, ms")
    per_layer_ms: float = Field(description="for each layer, ms")
    source: str = Field(description="where it was measured")


class MemoryFacts(_Report):
    """Memory of one rank."""

    weight_bytes: int = Field(description="weights, bytes")
    kv_bytes_per_token: int = Field(description="KV cache of one token in full-attention layers, bytes")
    kv_sliding_bytes_per_request: int = Field(description="most KV of one request in sliding layers, bytes")
    kv_capacity_tokens: int = Field(
        description="tokens of KV cache beside the weights at `utilisation`, whole blocks of 16; activations "
        "are not subtracted"
    )
    utilisation: float = Field(description="share of the device's memory that is used")
    fits: bool = Field(description="whether the batch's keys fit in the capacity")


class PredictReport(_Report):
    """One predicted iteration."""

    subject: Subject
    batch: BatchFacts
    iteration_ms: float = Field(description="predicted time of the iteration: kernels_ms + host_ms")
    iteration_ms_90: tuple[float, float] | None = Field(
        description="90 % interval of iteration_ms from the ops' errors, taken as independent of each other; the "
        "host's part counts as exact, and nothing is in it for what is not priced; None where an op's error is unknown"
    )
    kernels_ms: float = Field(description="sum of the ops, ms")
    host_ms: float | None = Field(description="host's part, ms; None: not modelled")
    host: HostFacts | str = Field(description="how host_ms is made up, or `not modelled`")
    bound_ms: float | None = Field(
        description="no implementation on this device is faster, ms: an independent count of necessary work "
        "at the device's peaks; None where they are unknown"
    )
    bound_by: str = Field(description="`compute`, `memory`, or `unknown`")
    flops: float = Field(description="FLOPs of the iteration")
    bytes_moved: float = Field(description="bytes that its kernels must read and write")
    necessary_flops: float = Field(description="FLOPs by the independent count")
    coverage: list[str] = Field(description="flags of all ops together")
    uncovered_share: float = Field(description="part of kernels_ms that carries a coverage flag, 0 to 1")
    validated_error: str = Field(description="measured errors of what it rests on, or `not validated`")
    validated: list[ValidatedPart] = Field(
        description="the same part by part: the kinds of its kernels, the whole iteration last"
    )
    how_to_validate: str = Field(description="what would validate the rest; empty where everything is")
    tpot_note: str = Field(description="what the figure means as TPOT; empty unless the batch only decodes")
    ops: list[OpRow] = Field(description="the ops, in order of execution")
    missing: list[MissingRows] = Field(description="rows to measure to lift the flags")
    unpriced: list[Unpriced] = Field(description="what the stack runs and the prediction leaves out")
    memory: MemoryFacts
    limits_origin: str = Field(description="where the device's physical limits come from")
