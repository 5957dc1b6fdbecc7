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


@dataclass(frozen=True)
class ModelTrace:
    """Every operation of every phase, and the library that it was read from."""

    transformers: str
    torch: str
    parameters: int
    ops: tuple[TracedOp, ...]

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
    request: protocol.Message = {
        "op": "trace",
        "config": dict(config),
        "phases": [asdict(phase) for phase in phases],
        "dtype": dtype,
        "windows": list(windows),
    }
    try:
        with WorkerProcess(1, "profiling.model_trace_worker") as worker:
            answer = worker.ask(request, TRACE_TIMEOUT_S)
    except WorkerError as fault:
        raise _failed(str(fault)) from fault
    if not answer["ok"]:
        raise _failed(str(answer["reason"]))
    return trace_from(answer)


def trace_from(data: Mapping[str, Any]) -> ModelTrace:
    """A trace from plain data."""
    ops = tuple(
        TracedOp(**each | {"inputs": tuple(map(tuple, each["inputs"])), "output": tuple(each["output"])})
        for each in data["ops"]
    )
    return ModelTrace(str(data["transformers"]), str(data["torch"]), int(data["parameters"]), ops)


def _failed(reason: str) -> ServingSimError:
    return ServingSimError(
        f"the model cannot be traced: {reason[:400]}",
        code="E_TOOLCHAIN",
        hint="pip install 'servingsim[torch]', or correct the config",
    )
