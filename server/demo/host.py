"""The host's part of a step, from a model of the same architecture whose kernels are next to nothing.

host(L) = measured step of L tiny layers - its predicted kernels; two depths give the part of a layer and of
the iteration. Nothing of the model that is judged enters.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from profiling.forward_case import ForwardCase
from profiling.source import StoreSource
from profiling.store import Store
from server.demo.rounds import measure_kernels, start
from server.demo.subject import STACK, batch_of, jobs_for, tiny
from servingsim.sim.evaluate import evaluate
from servingsim.timing.source import HostOverhead, Provenance

if TYPE_CHECKING:
    from profiling.report import OnProgress
    from server.demo.rounds import Folder
    from server.demo.subject import Subject

DEPTHS = (2, 14)
STEP = ForwardCase(1, 1, 16)
PRICED = (STEP, ForwardCase(1, 1, 0))
"""A model is built with every kernel that it may need, a prefill's too."""
SAMPLES = 60
SOURCE = f"steps of {DEPTHS[0]} and {DEPTHS[1]} tiny layers of the same architecture, less their kernels"


def host_overhead(subject: Subject, folder: Folder, threads: int, on_progress: OnProgress) -> HostOverhead:
    """Measure it, or read what an earlier run has measured."""
    device = subject.options.device
    path = folder.store("host")
    if path.exists():
        with Store.open(path, read_only=True) as store:
            kept = store.host(device, STACK)
        if kept is not None:
            return kept
    host_ms = [_host_ms(tiny(subject, layers), folder, threads, on_progress) for layers in DEPTHS]
    per_layer_ms = max(0.0, (host_ms[1] - host_ms[0]) / (DEPTHS[1] - DEPTHS[0]))
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    overhead = HostOverhead(
        per_iteration_ms=max(0.0, host_ms[0] - DEPTHS[0] * per_layer_ms),
        per_layer_ms=per_layer_ms,
        provenance=Provenance("measured", device, STACK, STACK, "", SOURCE, measured_at),
    )
    with Store.open(path, create=True) as store:
        store.put_host(STACK, overhead)
    return overhead


def _host_ms(small: Subject, folder: Folder, threads: int, on_progress: OnProgress) -> float:
    path = folder.store("host")
    measure_kernels(path, jobs_for(small.facts, small.options, PRICED), threads, on_progress)
    with Store.open(path, read_only=True) as store:
        kernels_ms = evaluate(small.facts, batch_of(STEP), StoreSource(store), small.options).kernels_ms
    with start(small, threads) as forward:
        return forward.measure(STEP, SAMPLES).median_ms - kernels_ms
