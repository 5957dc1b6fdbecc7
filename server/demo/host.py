"""The host's part of a step, from a narrow model of the same architecture at two depths.

host(L) = measured step of L narrow layers - its predicted kernels; two depths give the part of a layer and of the
iteration. Both have more weights than two last-level caches hold, as small kernels take longer while weights stream
through. Nothing of the model that is judged enters.
"""

from __future__ import annotations

import math
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
    from profiling.device import LocalDevice
    from profiling.report import OnProgress
    from server.demo.rounds import Folder
    from server.demo.subject import Subject
    from servingsim.sim.evaluate import Evaluated

STEP = ForwardCase(1, 1, 16)
PRICED = (STEP, ForwardCase(1, 1, 0))
"""A model is built with every kernel that it may need, a prefill's too."""
SAMPLES = 24
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
    measure_kernels(
        path, jobs_for(narrow(subject, 1).facts, narrow(subject, 1).options, PRICED), device, on_progress
    )
    one = _priced(narrow(subject, 1), folder)
    layer_bytes = weight_bytes(one.arch.facts, one.arch.rank)
    shallow = math.ceil(CACHES * (device.last_level_cache_bytes or ASSUMED_CACHE_BYTES) / layer_bytes)
    depths = (shallow, 2 * shallow)
    host_ms = [_host_ms(narrow(subject, layers), folder, device) for layers in depths]
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


def _host_ms(small: Subject, folder: Folder, device: LocalDevice) -> float:
    with start(small, device.threads) as forward:
        return forward.measure(STEP, SAMPLES).median_ms - _priced(small, folder).kernels_ms


def _priced(small: Subject, folder: Folder) -> Evaluated:
    with Store.open(folder.store("host"), read_only=True) as store:
        return evaluate(small.facts, batch_of(STEP), StoreSource(store), small.options)
