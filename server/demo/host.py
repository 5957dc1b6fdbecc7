"""The host's part of a step, from a narrow model of the same architecture at two depths.

host(L) = measured step of L narrow layers - its predicted kernels; two depths give the part of a layer and of the
iteration. Both have more weights than two last-level caches hold, as small kernels take longer while weights stream
through. Nothing of the model that is judged enters.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from profiling.forward_case import ForwardCase
from profiling.source import StoreSource
from profiling.store import Store
from server.demo.rounds import measure_kernels, start
from server.demo.subject import STACK, batch_of, jobs_for, narrow
from servingsim.archs.kv import weight_bytes
from servingsim.sim.evaluate import evaluate
from servingsim.timing.source import HostOverhead, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.device import LocalDevice
    from profiling.report import OnProgress
    from server.demo.rounds import Folder
    from server.demo.subject import Subject
    from servingsim.archs.dense import DenseArch
    from servingsim.sim.evaluate import Evaluated

STEP = ForwardCase(1, 1, 16)
PRICED = (STEP, ForwardCase(1, 1, 0))
"""A model is built with every kernel that it may need, a prefill's too."""
SAMPLES = 16
PASSES = 3
CACHES = 2
ASSUMED_CACHE_BYTES = 32 * 2**20


def host_overhead(
    subject: Subject, folder: Folder, device: LocalDevice, on_progress: OnProgress
) -> HostOverhead:
    """Measure it, or read what an earlier run has measured."""
    path = folder.store("host")
    with Store.open(path, read_only=True) as store:
        kept = store.host(device.name, STACK)
    if kept is not None:
        return kept
    one = narrow(subject, 1)
    measure_kernels(path, jobs_for(one.facts, one.options, PRICED), device, on_progress)
    layer_bytes = weight_bytes(one.facts, _priced(one, folder).arch.rank)
    shallow = math.ceil(CACHES * (device.last_level_cache_bytes or ASSUMED_CACHE_BYTES) / layer_bytes)
    depths = (shallow, 2 * shallow)
    models = [narrow(subject, layers) for layers in depths]
    steps_ms = _steps_ms(models, device)
    host_ms = [
        step_ms - _priced(model, folder).kernels_ms for model, step_ms in zip(models, steps_ms, strict=True)
    ]
    per_layer_ms = max(0.0, (host_ms[1] - host_ms[0]) / shallow)
    source = (
        f"steps of {depths[0]} and {depths[1]} narrow layers of the same architecture, less their kernels"
    )
    overhead = HostOverhead(
        per_iteration_ms=max(0.0, host_ms[0] - shallow * per_layer_ms),
        per_layer_ms=per_layer_ms,
        provenance=Provenance(
            "measured", device.name, STACK, STACK, "", source, datetime.now(UTC).isoformat(timespec="seconds")
        ),
    )
    with Store.open(path) as store:
        store.put_host(STACK, overhead)
    return overhead


def _steps_ms(models: Sequence[Subject], device: LocalDevice) -> list[float]:
    """A step of each model, the models in turn: the fastest pass of each, as disturbances only add time."""
    with ExitStack() as stack:
        running = [stack.enter_context(start(model, device.threads)) for model in models]
        passes = [[forward.measure(STEP, SAMPLES).median_ms for forward in running] for _ in range(PASSES)]
    return [min(times_ms) for times_ms in zip(*passes, strict=True)]


def _priced(small: Subject, folder: Folder) -> Evaluated[DenseArch]:
    with Store.open(folder.store("host"), read_only=True) as store:
        return evaluate(small.facts, batch_of(STEP), StoreSource(store), small.options)
