"""The command for a log of iterations: from words to what is printed."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from profiling.console import emit
from server.align.align import align as aligned
from server.align.request import AlignRequest
from server.align.rows import store_source
from server.align.view import show
from server.measuring import fill as measure_missing
from server.measuring import local_device, measured_limits
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from profiling.device import LocalDevice
    from profiling.source import StoreSource
    from servingsim.sim.missing import MissingKernel

LOCAL = ("cpu", "cuda")


def align_iterations_log(
    log: Path,
    capture: Path | None,
    fit_on: str | None,
    db: str | None,
    flags: Mapping[str, Any],
    *,
    fill: bool,
    python: str,
    as_json: bool,
) -> None:
    """Print runs beside their prediction.

    Raises:
        ServingSimError: A word says nothing, or what `align` refuses.
    """
    device = flags["device"]
    if not flags["model"]:
        raise ServingSimError("no MODEL", hint="a config.json, its folder, or a bundled name, before --log")
    if fill and not device:
        raise ServingSimError("--fill without --device", hint="--device cpu measures on this machine")
    local = local_device(device, flags["threads"]) if device and (fill or device in LOCAL) else None
    request = AlignRequest(
        model=flags["model"],
        log=log,
        capture=capture,
        stack=flags["stack"] or "vllm",
        tp=flags["tp"] or 1,
        device=local.name if local else device,
        stack_version=flags["stack_version"],
        dtype=flags["dtype"],
        kv_dtype=flags["kv_dtype"],
        fit_on=fit_on,
    )
    with ExitStack() as opened:
        source = store_source(db, opened, create=fill) if device else None
        measure = None
        if fill and source and local:
            measured_limits(source.store, local)
            measure = partial(_measure, source, local, python)
        report = aligned(request, source, measure)
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


def _measure(
    source: StoreSource, local: LocalDevice, python: str, missing: tuple[MissingKernel, ...]
) -> None:

    # Rows whose samples a neighbour disturbed are taken again, once.
    for _ in range(2 if missing else 0):
        measure_missing(source.store, local, missing, python)
