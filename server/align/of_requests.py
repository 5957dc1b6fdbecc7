"""The command for a log of requests or a bench result: from words to what is printed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from profiling.console import emit
from server.align.rows import store_source
from server.align.served import ServedRequest, align_requests
from server.align.served_view import show
from server.serving.progress import watching_run
from server.serving.request import asked_deployment
from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests_run import run_of_log
from servingsim.sim.truth.requests_run_bench import run_of_bench

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from server.align.log_kind import LogKind


def align_requests_log(
    log: Path,
    kind: LogKind,
    share: float | None,
    db: str | None,
    flags: Mapping[str, Any],
    *,
    deployment: Path | None,
    fields: Sequence[str],
    as_json: bool,
) -> None:
    """Print a run beside its simulation.

    Raises:
        ServingSimError: A word says nothing, or what `align_requests` refuses.
    """
    if traffic := [text for text in fields if text.startswith("workload.")]:
        raise ServingSimError(f"--set {traffic[0]}", known="fields of a deployment: the log is the traffic")
    if deployment is None and not (flags.get("device") and flags.get("model")):
        raise ServingSimError(
            f"nothing says which {'device' if flags.get('model') else 'model'} served",
            known="MODEL and --device KEY, with the engine's arguments, or --deployment FILE",
            hint="`python -m profiling devices` lists the devices of a store",
        )
    served = asked_deployment(flags, deployment=deployment, fields=fields)
    run = run_of_bench(log) if kind == "bench" else run_of_log(log)
    with ExitStack() as opened:
        source = store_source(db, opened, create=False)
        follow = opened.enter_context(watching_run())
        report = align_requests(ServedRequest(run, served, share), source, follow)
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)
