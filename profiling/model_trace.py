"""The math of a model, as Transformers computes it: a forward on the meta device, recorded in a worker process.

No weight is allocated and nothing is computed: shapes alone run through the real modelling code. What comes back
says what is computed and where it is written, never what a serving stack launches.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from profiling.worker_process import WorkerError, WorkerProcess
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling import protocol

TRACE_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class TracePhase:
    """One forward: `batch` requests of `q_len` new tokens each, after `context` cached ones."""

    name: str
    batch: int
    q_len: int
    context: int


@dataclass(frozen=True)
class TracedOp:
    """One aten operation of one forward.

    Attributes:
        phase: Name of its phase.
        layer: Index among the traced layers, -1 outside the loop.
        module: Path below the layer (`self_attn.q_proj`), or from the model's root outside the loop.
        aten: The operation, `aten.linear`.
        function: The Transformers function that called it.
        anchor: `models/qwen3/modeling_qwen3.py:245`, below the package.
        inputs: Shapes of its tensors.
        output: Shape of its first result.
        dtype: Of its first result.
        flops: Of matrix products and attention, a multiply-add counted as two; else one for each result.
        bytes_moved: Its tensors read once and results written once, where nothing is fused.
        view: Whether the result shares its input's memory: nothing is launched.
        detail: Of a region: what its shapes do not say (`window 4096`, `experts 128 top_k 8`).
    """

    phase: str
    layer: int
    module: str
    aten: str
    function: str
    anchor: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    dtype: str
    flops: int
    bytes_moved: int
    view: bool
    detail: str = ""


@dataclass(frozen=True)
class TraceClass:
    """Layers that run the same operations on the same shapes.

    Attributes:
        name_hint: What tells it apart, for people: `attention`, `attention_moe`, `linear_moe`, `mamba`, `mlp`.
        indices: Which layers, ascending.
        hash: Of their operations.
    """

    name_hint: str
    indices: tuple[int, ...]
    hash: str


@dataclass(frozen=True)
class ModelTrace:
    """Every operation of every phase, and the library that it was read from.

    Attributes:
        transformers: Its version.
        torch: Its version.
        parameters: Weights of the text model.
        ops: In the order in which they ran.
        classes: The layer classes of the whole depth, of which `ops` holds the first layer each; empty where
            the caller chose the layers.
        model_class: The class that ran, as Transformers names it.
        layers_path: Where the layers are (`model.layers`): outside paths begin beside it.
    """

    transformers: str
    torch: str
    parameters: int
    ops: tuple[TracedOp, ...]
    classes: tuple[TraceClass, ...] = ()
    model_class: str = ""
    layers_path: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def trace_model(
    config: Mapping[str, Any], phases: Sequence[TracePhase], *, dtype: str, windows: Sequence[int]
) -> ModelTrace:
    """Run each phase through the model that a config describes.

    Args:
        config: A config.json, decoded, with as many layers as are to be traced.
        phases: The forwards.
        dtype: `bf16`, `fp16` or `fp32`: of weights and activations.
        windows: Keys that a query of each traced layer sees, 0 for all.

    Raises:
        ServingSimError: E_TOOLCHAIN, where the libraries are absent or refuse the config.
    """
    return _asked("trace", config, phases, {"dtype": dtype, "windows": list(windows)}, TRACE_TIMEOUT_S)


def trace_any(
    config: Mapping[str, Any],
    phases: Sequence[TracePhase],
    *,
    dtype: str,
    timeout_s: float = TRACE_TIMEOUT_S,
) -> ModelTrace:
    """Run each phase through any causal language model, in its whole depth.

    Attention, routed experts, delta rules, scans and causal convolutions come back whole, as one operation
    `region.*` each. Layer classes are found from the operations; those of one layer of each class are kept.

    Args:
        config: A config.json, decoded, as it is; of a nested one the text model is traced.
        phases: The forwards; their names have to differ.
        dtype: `bf16`, `fp16` or `fp32`: of weights and activations. Quantisation is left out.
        timeout_s: For all phases together.

    Raises:
        ServingSimError: E_TOOLCHAIN, where the libraries are absent, or cannot build or run what the config
            describes; the reason is theirs.
    """
    return _asked("trace_any", config, phases, {"dtype": dtype}, timeout_s)


def trace_from(data: Mapping[str, Any]) -> ModelTrace:
    """A trace from plain data."""
    ops = tuple(
        TracedOp(**each | {"inputs": tuple(map(tuple, each["inputs"])), "output": tuple(each["output"])})
        for each in data["ops"]
    )
    classes = tuple(
        TraceClass(str(each["name_hint"]), tuple(each["indices"]), str(each["hash"]))
        for each in data.get("classes", ())
    )
    return ModelTrace(
        transformers=str(data["transformers"]),
        torch=str(data["torch"]),
        parameters=int(data["parameters"]),
        ops=ops,
        classes=classes,
        model_class=str(data.get("model_class", "")),
        layers_path=str(data.get("layers_path", "")),
    )


def _asked(
    op: str,
    config: Mapping[str, Any],
    phases: Sequence[TracePhase],
    more: dict[str, Any],
    timeout_s: float,
) -> ModelTrace:
    """The worker's answer to one request."""
    request: protocol.Message = {
        "op": op, "config": dict(config), "phases": [asdict(phase) for phase in phases]
    } | more  # fmt: skip
    try:
        with WorkerProcess(1, "profiling.model_trace_worker") as worker:
            answer = worker.ask(request, timeout_s)
    except WorkerError as fault:
        raise _failed(str(fault)) from fault
    if not answer["ok"]:
        raise _failed(str(answer["reason"]))
    return trace_from(answer)


def _failed(reason: str) -> ServingSimError:
    return ServingSimError(
        f"the model cannot be traced: {reason[:400]}",
        code="E_TOOLCHAIN",
        hint="pip install 'servingsim[torch]', or correct the config",
    )
