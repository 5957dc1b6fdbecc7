"""What a slot should cost, in the subject process: its kernel asked directly, through the shipped atomic op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.ops.atomic import Op
from servingsim.timing.batch import Batches
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, flatten
from servingsim.timing.engine import Kernel
from servingsim.timing.registry import kernels
from servingsim.timing.slot_inputs import SLOT_INPUTS
from servingsim.validation import parse
from skills.compose_op.synthetic import REQUESTS, batch_of, source_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.cost_tree import FlatTree, LeafMetrics, Manifest
    from servingsim.timing.coverage import OnMissing
    from servingsim.timing.source import TimingSource

METRICS = 3
"""Time, FLOPs and bytes: the rows of a metrics array that kernels fill."""
ON_MISSING: OnMissing = "estimate-all"
"""Probes may lie outside the rows: they are priced on both sides by the same estimate."""


class Recorder(Evaluator):
    """Takes every push as it comes, in order or not, so that what was wrong can be told from the whole."""

    def __init__(self, flat: FlatTree, manifest: Manifest, iterations: int) -> None:
        super().__init__(flat, manifest, iterations)
        self.pushes: list[tuple[str, LeafMetrics]] = []

    def push(self, name: str, metrics: LeafMetrics, log: Callable[[], object] | None = None) -> None:
        """Remember one push; `log` is not asked."""
        del log
        self.pushes.append((name, metrics))


def op_of(sub: dict[str, Any], config: KernelConfig, source: TimingSource) -> Op:
    """One declared sub-kernel as an atomic op; refuses axes that the slot input does not give."""
    slot_input = next(each for each in SLOT_INPUTS if each.name == sub["slot_input"])
    kernel = Kernel.build(sub["slot"], kernels()[sub["kind"]], config, source, on_missing=ON_MISSING)
    return Op(sub["slot"], kernel, slot_input, width=sub["width"], launches=sub["launches"])


def priced(op: Op, batches: Batches) -> list[list[float]]:
    """Time, FLOPs and bytes of one launch in each iteration, shape [3][iterations]."""
    builder = CostTreeBuilder()
    recorder = Recorder(flatten(op.compile(builder)), builder.manifest(), len(batches))
    op.eval(batches, recorder)
    ((_, metrics),) = recorder.pushes
    return plain(metrics)


def plain(metrics: LeafMetrics) -> list[list[float]]:
    """Metrics for the way through a pipe."""
    return [[float(value) for value in row] for row in metrics.values[:METRICS]]


def expand(sub: dict[str, Any], kind: KernelKind[Any, Any], values: dict[str, Any]) -> KernelConfig:
    """A kernel's Config by the declared mapping alone."""
    given = {inner: values[outer] for outer, inner in sub["config"].items() if outer in values}
    config: KernelConfig = parse(kind.config, given, where=f"config_example as {sub['kind']}")
    return config


def price_atomic(request: dict[str, Any]) -> dict[str, Any]:
    """Build the one kernel on synthetic rows and price it: leaf, its kind and the times of the probes."""
    sub = request["sub_kernel"]
    kind = kernels()[sub["kind"]]
    config = expand(sub, kind, request["config"])
    op = op_of(sub, config, source_of([(kind, config)]))
    times = priced(op, Batches.of([batch_of(requests) for requests in REQUESTS]))[0]
    return {"config": config.model_dump(mode="json", exclude_unset=True), "time_ms": times}
