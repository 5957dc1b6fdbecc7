"""The main path of `align`: read what was measured, price it, fit the host on one run, judge the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from server.align.by_op import beside_ops, errors_by_op
from server.align.priced import priced
from server.align.report import AlignReport, HostPart
from server.align.runs import aligned_run, fitted_and_judged, medians, predicted_ms, steps
from servingsim.errors import ServingSimError
from servingsim.sim.truth.host_fit import fit_host
from servingsim.sim.truth.iterations_compare import step_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.align.priced import Priced
    from server.align.request import AlignRequest
    from servingsim.sim.missing import MissingKernel
    from servingsim.sim.truth.host_fit import HostFit
    from servingsim.sim.truth.iterations import Run
    from servingsim.timing.source import TimingSource

UNEXPLAINED, UNEXPLAINED_MS = 1.5, 3.0
"""A fitted host beyond so many times what a capture shows, and so much more, is called an error of the kernels."""


def align(
    request: AlignRequest,
    store: TimingSource | None,
    measure: Callable[[tuple[MissingKernel, ...]], None] | None = None,
) -> AlignReport:
    """Set an engine beside its prediction.

    Args:
        request: Files and model.
        store: Measured rows; asked only where the request names a device.
        measure: Puts rows that are missing into the store; None: they are estimated.

    Raises:
        ServingSimError: A file is not what it has to be, the parts do not belong together, or nothing says what a
            kernel takes.
    """
    log = priced(request, store)
    if measure is not None:
        measure(log.missing())
    fitted, judged = fitted_and_judged(log.log, request.fit_on)
    kernels_ms = log.kernels_ms()
    host = fit_host(fitted.iterations, kernels_ms[fitted.name])
    runs = [
        aligned_run(log, run, kernels_ms[run.name], host, fitted, request.model) for run in (fitted, *judged)
    ]
    total = step_errors(
        np.concatenate([predicted_ms(run, kernels_ms[run.name], host) for run in judged]),
        np.concatenate([[each.duration_ms for each in run.iterations] for run in judged]),
    )
    if total is None:
        raise ServingSimError("no iteration to judge", path=str(request.log))
    repeats = [each.repeats_percent for each in runs if each.judged and each.repeats_percent is not None]
    captured = log.captured
    return AlignReport(
        engine=log.log.engine,
        model=request.model,
        stack=request.stack,
        device=log.options.device,
        kernels_from="store" if request.device else "capture",
        log=request.log.name,
        capture=request.capture.name if request.capture else "",
        host=_host(host, fitted),
        judged=steps(total),
        repeats_percent=float(np.mean(repeats)) if repeats else None,
        figures=medians(runs),
        runs=runs,
        ops=errors_by_op(captured, log.model, log.source, log.options) if captured else [],
        beside=beside_ops(captured) if captured else [],
        notes=_notes(log, host, measured=request.device is not None),
    )


def _host(host: HostFit, fitted: Run) -> HostPart:
    return HostPart(
        fitted_on=fitted.name,
        iterations=host.fitted_on,
        decode_ms=host.decode_ms,
        other_ms=host.other_ms,
        request_ms=host.request_ms,
        left_ms=host.left_ms,
        short_ms=host.short_ms,
    )


def _unexplained(log: Priced, host: HostFit) -> list[str]:
    """Where the fitted host is more than a capture shows beside the ops: the kernels' error is in it."""
    if log.captured is None:
        return []
    beside = {each.phase: each.beside_ms + each.before_ms for each in beside_ops(log.captured)}
    fitted = {"decode": host.decode_ms, "other": host.other_ms}
    shown = {"decode": beside.get("decode"), "other": beside.get("prefill", beside.get("mixed"))}
    return [
        f"{name} iterations: {fitted[name]:.3g} ms of host were fitted, the capture shows {seen_ms:.3g} ms beside "
        "and between the ops: what is more than that is an error of the kernels' times"
        for name, seen_ms in shown.items()
        if seen_ms is not None and fitted[name] > UNEXPLAINED * seen_ms + UNEXPLAINED_MS
    ]


def _notes(log: Priced, host: HostFit, *, measured: bool) -> list[str]:
    notes = list(log.captured.notes) if log.captured else []
    if host.short_ms:
        notes.append(
            f"kernels alone exceed the fitted run's median iteration by {host.short_ms:.3g} ms: the rows were "
            "measured on a slower device or under a profiler"
        )
    notes += _unexplained(log, host)
    disturbed, rows = log.disturbed() if measured else (0, 0)
    if disturbed:
        notes.append(
            f"{disturbed} of {rows} measured rows were taken while something else held the machine: measure again "
            "when it is quiet"
        )
    if not (log.log.max_num_tokens and log.log.max_num_seqs):
        notes.append("the header has no max_num_batched_tokens and max_num_seqs: no run was served again")
    elif not any(run.requests for run in log.log.runs):
        notes.append("the log has no request lines: TTFT, TPOT and throughput are not compared")
    return notes
