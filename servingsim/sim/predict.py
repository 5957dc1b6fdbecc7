"""One iteration, predicted: facts and batch to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.evaluate import evaluate
from servingsim.sim.missing import MissingKernel, missing_kernels
from servingsim.sim.tell import tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.options import PredictOptions
    from servingsim.sim.report import PredictReport
    from servingsim.timing.batch import Batch
    from servingsim.timing.source import TimingSource


def predict(
    model: DenseFacts | TableModel,
    batch: Batch,
    source: TimingSource,
    options: PredictOptions,
    command: Callable[[MissingKernel], str] = lambda _: "",
) -> PredictReport:
    """Predict one iteration of a model.

    Args:
        model: A dense decoder's facts, from `archs.hf_config.read_facts`, or any other model as a table.
        batch: The iteration.
        source: Where kernel times come from.
        options: Device, stack, parallelism, limits.
        command: How the caller's user would measure missing rows.

    Raises:
        ServingSimError: The partition, batch or version does not fit, or a kernel cannot be priced.
    """
    evaluated = evaluate(model, batch, source, options)
    missing = missing_kernels(evaluated.logs)
    return tell(evaluated, source, options, [(each, command(each)) for each in missing])
