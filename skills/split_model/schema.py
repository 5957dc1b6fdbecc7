"""What goes into split_model, and its report. Nothing here is particular to one family of models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from skills.report import Part, SkillReport
from skills.request import Request, SkillRequest

StackName = Literal["vllm", "transformers", "sglang", "trtllm"]
Verdict = Literal["reuse", "new_kernel", "elementwise", "fold"]
DtypeName = Literal["auto", "bf16", "fp16", "fp32"]
KvDtypeName = Literal["auto", "bf16", "fp16", "fp32", "fp8"]
Scalar = int | float | str

OUTSIDE = "outside"
"""Layer class of what runs once an iteration: embedding, final norm, lm_head."""
NO_CAPTURE = "— (no capture)"
INFERRED = "inferred, unverified"
MAX_PHASES = 8
MAX_OVERRIDES = 64


class PhaseShape(Request):
    """One forward to price."""

    phase: Literal["prefill", "decode"]
    batch: int = Field(1, ge=1, le=8192, description="requests")
    q_len: int = Field(1, ge=1, le=2**17, description="new tokens each")
    context: int = Field(0, ge=0, le=2**24, description="cached tokens each")

    @property
    def label(self) -> str:
        """`decode_64x1+2048`."""
        return f"{self.phase}_{self.batch}x{self.q_len}+{self.context}"


DEFAULT_PHASES = (
    PhaseShape(phase="prefill", batch=1, q_len=2048, context=0),
    PhaseShape(phase="decode", batch=64, q_len=1, context=2048),
)


class Override(Request):
    """Another verdict for an op, held to the same rules."""

    op: str = Field(description="as in a row")
    verdict: Verdict
    maps_to: str = Field("", max_length=80, description="kind, or the host of a fold")
    evidence: str = Field(min_length=8, max_length=400)


class SplitRequest(SkillRequest):
    """One model on one stack. Give `model` or `config`."""

    model: str = Field("", max_length=512, description="bundled name, config.json or folder")
    config: dict[str, Any] = Field(default={}, description="the config itself")
    stack: StackName = "vllm"
    dtype: DtypeName = "auto"
    kv_dtype: KvDtypeName = "auto"
    tp: int = Field(1, ge=1)
    pp: int = Field(1, ge=1)
    ep: int = Field(1, ge=1)
    phases: list[PhaseShape] = Field(
        default=[], max_length=MAX_PHASES, description="default: prefill 1x2048, decode 64x1 after 2048"
    )
    capture: str = Field("", max_length=512, description="kernel summary: JSON list or cuda_gpu_kern_sum CSV")
    without_capture: bool = Field(False, description="the user's word that none is to be had")
    overrides: list[Override] = Field(default=[], max_length=MAX_OVERRIDES)

    @property
    def shapes(self) -> tuple[PhaseShape, ...]:
        """The phases that are asked about."""
        return tuple(self.phases) or DEFAULT_PHASES


class LayerClass(Part):
    """Layers of one kind."""

    name: str
    count: int
    attention: str = Field(description="MHA, GQA, MQA, MLA, linear, ... or unknown")
    window: int = Field(description="keys a query sees, 0 all")
    mlp: str = Field(description="dense or moe")


class Facts(Part):
    """The architecture; what the config does not say is listed in `unknown`."""

    model_type: str
    family: str
    parameters: dict[str, int | None] = Field(description="total, activated, embeddings")
    dims: dict[str, int | None]
    layers: list[LayerClass]
    moe: dict[str, Scalar] = Field({}, description="experts, top_k, shared, ...; empty: none")
    dtypes: dict[str, str]
    flags: dict[str, bool] = Field(description="tied_embeddings, qk_norm, biases, ...")
    unknown: list[str]


class Reference(Part):
    """The shipped decomposition whose verdicts are reused, and what differs from it."""

    name: str
    anchor: str
    differing: list[str] = Field(description="fact: rows decided afresh")


class MapsTo(Part):
    """What prices a row."""

    kind: str = Field("", description="kernel kind; empty for a fold")
    args: dict[str, Scalar] = Field(
        {}, description="that the model fixes, per rank; of elementwise the bytes per token"
    )
    axes: list[str] = Field([], description="args that vary with the batch")
    host: str = Field("", description="op that a fold is in")
    until_then: str = Field("", description="kind that prices a new kernel until it is wired")


class RowWork(Part):
    """Work of one launch of a row in a phase."""

    flops: float
    bytes: float


class Row(Part):
    """One op and its one home."""

    op: str
    layer_class: str
    repeat: int = Field(description="times an iteration")
    math: str
    anchor: str = Field(description="file:line in Transformers of the traced operation")
    traced: int = Field(description="aten operations it covers, one layer, all phases")
    measured: str = NO_CAPTURE
    measured_ns: int | None = None
    measured_share: float | None = None
    fused: str = Field(description="evidence of the launch's granularity")
    verdict: Verdict
    maps_to: MapsTo
    why: str = Field("", description="of a new kernel: why no kind can stand for it")
    estimated_share: float = Field(description="roofline, all phases alike; no measurement")
    work: dict[str, RowWork] = Field(description="of the phases in which it is launched")


class Placed(Part):
    """Operations or kernels that are in no row."""

    name: str
    reason: str
    count: int
    ns: int = 0


class NamedDifference(Part):
    """Why a figure of the table is not the accountant's, and by how much it has to be another."""

    figure: str
    amount: float = Field(description="what the table has more")
    reason: str


class Agreement(Part):
    """Totals of the table for one phase, beside those of an accountant that does not look at it, and of the trace."""

    phase: str
    tolerance: float = Field(description="of what the accountant counts")
    trace_tolerance: float = Field(0.01, description="of what the trace counts")
    table: dict[str, float]
    accountant: dict[str, float] = Field(description="servingsim/bounds")
    trace: dict[str, float] = Field(description="of the undivided model; empty where not traced")
    named: list[NamedDifference] = Field(default=[], description="differences that are known, and checked")

    @property
    def pairs(self) -> list[tuple[str, float, float]]:
        """Every figure that is compared: its name, ours, the other with what is known to differ."""
        return [(f"{self.phase} {name}", ours, other) for name, ours, other, _ in self._compared]

    @property
    def off(self) -> list[str]:
        """Figures beyond the tolerance, with both numbers."""
        return [
            f"{self.phase} {name}: {ours:.6g} in the table, {other:.6g} counted"
            for name, ours, other, tolerance in self._compared
            if not abs(ours - other) <= tolerance * max(abs(other), 1.0)
        ]

    @property
    def _compared(self) -> list[tuple[str, float, float, float]]:
        sides = ((self.accountant, self.tolerance), (self.trace, self.trace_tolerance))
        return [
            (name, self.table[name], value + self.named_amount(name), tolerance)
            for side, tolerance in sides
            for name, value in side.items()
        ]

    def named_amount(self, figure: str) -> float:
        """What the table is known to have more of a figure."""
        return sum(each.amount for each in self.named if each.figure == figure)


class HandOff(Part):
    """Ready input for wire_kernel."""

    rows: list[str]
    share: float
    share_is: Literal["measured", "estimated"]
    call: dict[str, Any] = Field(description="its arguments: kind, handoff, share")


class TraceInfo(Part):
    """What the math was read from."""

    transformers: str = ""
    torch: str = ""
    operations: int = 0
    parameters: int = Field(0, description="of the traced layers and what is outside")
    failure: str = ""


class SplitReport(SkillReport):
    """The decision table."""

    skill: str = "split_model"
    request: SplitRequest
    facts: Facts
    reference: Reference
    rows: list[Row]
    plumbing: list[Placed] = Field(description="not priced, with the reason")
    unplaced: list[Placed]
    handoffs: list[HandOff]
    trace: TraceInfo
    agreement: list[Agreement]
