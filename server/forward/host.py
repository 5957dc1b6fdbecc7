"""What a forward spends between its kernels, measured on a narrow model of the same layers.

A module's own time, less the small operations in it that are priced, is what its calls cost: the interpreter, the
dispatcher, views, allocation. It is taken part by part (attention, MLP, layer, once an iteration), and nothing of the
model that is judged enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.forward.groups import ONCE, by_group, is_between
from server.forward.rows import source_of
from server.forward.trial import STACK, batch_of
from server.forward.turns import lower_quartile
from servingsim.sim.predict import predict
from servingsim.timing.source import HostOverhead, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.forward.trial import Trial
    from server.forward.turns import Turns


@dataclass(frozen=True)
class Gaps:
    """The host's part of one iteration of a model with so many layers.

    Attributes:
        parts_ms: By group: between the launches of a section, in all layers; and once an iteration.
        overhead: The same as predictions take it.
    """

    parts_ms: Mapping[str, float]
    overhead: HostOverhead


def gaps_of(narrow: Trial, turns: Turns) -> Gaps:
    """From turns of a narrow model."""
    (case,) = narrow.cases
    source = source_of(narrow, turns.kernels, lower_quartile(turns.kernel_ms), None)
    model = narrow.routed(turns.active_experts[case.label])
    report = predict(model, batch_of(case), source, narrow.options)
    priced = by_group({op.op: op.time_ms for op in report.ops}, "ops")
    spans = {name: float(lower_quartile(each)) for name, each in turns.spans_ms[case.label].items()}
    parts_ms = {
        group: time_ms - priced.get(group, 0.0)
        for group, time_ms in by_group(spans, "spans").items()
        if is_between(group)
    }
    in_layers_ms = sum(time_ms for group, time_ms in parts_ms.items() if group != ONCE)
    overhead = HostOverhead(
        per_iteration_ms=max(0.0, parts_ms.get(ONCE, 0.0)),
        per_layer_ms=max(0.0, in_layers_ms / narrow.num_layers),
        provenance=Provenance(
            "measured",
            narrow.options.device,
            STACK,
            STACK,
            "",
            "own time of the modules of a narrow model of the same layers, less the operations in it",
            datetime.now(UTC).isoformat(timespec="seconds"),
        ),
    )
    return Gaps(parts_ms, overhead)
