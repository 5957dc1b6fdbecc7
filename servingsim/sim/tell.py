"""A priced iteration as a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.sim.op_rows import op_row
from servingsim.sim.report import (
    HOST_NOT_MODELLED,
    BatchFacts,
    HostFacts,
    MissingRows,
    OpRow,
    PredictReport,
    Unpriced,
)
from servingsim.sim.report import Subject as SubjectFacts
from servingsim.sim.validated import ITERATION, read_validated
from servingsim.sim.validated.match import Subject, ValidatedPart, parts_of
from servingsim.sim.validated.subjects import of_slot
from servingsim.sim.validated.words import how_to_validate, said
from servingsim.timing import coverage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.dense import DenseArch
    from servingsim.archs.table_arch import TableArch
    from servingsim.bounds.dense import Bound
    from servingsim.sim.evaluate import Evaluated
    from servingsim.sim.missing import MissingKernel
    from servingsim.sim.options import PredictOptions
    from servingsim.sim.views import ModelView
    from servingsim.timing.batch import Batch
    from servingsim.timing.source import HostOverhead, TimingSource


def tell(
    evaluated: Evaluated[DenseArch | TableArch],
    source: TimingSource,
    options: PredictOptions,
    missing: Sequence[tuple[MissingKernel, str]],
) -> PredictReport:
    """The report.

    Args:
        evaluated: The priced iteration.
        source: Where its times came from.
        options: What was asked.
        missing: Rows to measure, each with the command for it.
    """
    view, batch, kernels_ms = evaluated.view, evaluated.batch, evaluated.kernels_ms
    device = source.device(options.device)
    ops = _op_rows(evaluated)
    host = source.host_overhead(options.device, options.stack.name)
    host_ms = _host_ms(host, view.num_layers)
    limit = view.bound(batch, device)
    parts = _validated(evaluated, options)
    return PredictReport(
        subject=_subject(view, options, evaluated.site.version),
        batch=_batch_facts(batch),
        iteration_ms=kernels_ms + (host_ms or 0.0),
        iteration_ms_90=_interval(kernels_ms, evaluated.error_ms, host_ms or 0.0),
        kernels_ms=kernels_ms,
        host_ms=host_ms,
        host=_host_facts(host),
        bound_ms=limit.bound_ms if limit else None,
        bound_by=_bound_by(limit),
        flops=sum(row.flops for row in ops),
        bytes_moved=sum(row.bytes_moved for row in ops),
        necessary_flops=view.necessary_flops(batch),
        coverage=_all_flags(ops),
        uncovered_share=sum(row.share for row in ops if row.coverage),
        validated_error=options.validated_error or said(parts),
        validated=parts,
        how_to_validate=how_to_validate(parts),
        tpot_note=_tpot_note(batch),
        ops=ops,
        missing=[_missing_rows(each, command) for each, command in missing],
        unpriced=[*_unpriced(options), *view.unpriced],
        memory=view.memory(batch, device, options.utilisation),
        limits_origin=device.limits_origin,
    )


def _op_rows(evaluated: Evaluated[DenseArch | TableArch]) -> list[OpRow]:
    """Slots that the batch launches at all."""
    pairs = zip(evaluated.logs, evaluated.arch.flat.repetitions().tolist(), strict=True)
    return [
        op_row(log, repetitions, evaluated.kernels_ms) for log, repetitions in pairs if len(log.points.coords)
    ]


def _interval(kernels_ms: float, error_ms: float, host_ms: float) -> tuple[float, float] | None:
    if math.isnan(error_ms):
        return None
    return max(kernels_ms - error_ms, 0.0) + host_ms, kernels_ms + error_ms + host_ms


def _validated(evaluated: Evaluated[DenseArch | TableArch], options: PredictOptions) -> list[ValidatedPart]:
    """The kinds of the kernels that were launched, and the whole iteration."""
    view = evaluated.view
    records = read_validated() if options.validated is None else options.validated
    repetitions = evaluated.arch.flat.repetitions().tolist()
    shares = [
        (subject, time_ms * times / evaluated.kernels_ms)
        for log, times in zip(evaluated.logs, repetitions, strict=True)
        for subject, time_ms in of_slot(log)
    ]
    whole = Subject(
        ITERATION,
        options.device,
        (options.stack.name,),
        evaluated.site.version,
        view.model_type,
        view.dtypes[0],
    )
    return [*parts_of(shares, records), whole.part(1.0, records)]


def _subject(view: ModelView, options: PredictOptions, version: str) -> SubjectFacts:
    dtype, gemm_dtype, kv_dtype = view.dtypes
    return SubjectFacts(
        model_type=view.model_type,
        parameters=view.parameters,
        device=options.device,
        tp=view.tp,
        stack=options.stack.name,
        stack_version=version,
        dtype=dtype,
        gemm_dtype=gemm_dtype,
        kv_dtype=kv_dtype,
    )


def _batch_facts(batch: Batch) -> BatchFacts:
    return BatchFacts(
        prefill_requests=len(batch.rows.q_len),
        decode_requests=len(batch.rows.kv_len),
        new_tokens=batch.num_tokens,
        context_tokens=batch.context_tokens,
        longest_context=batch.longest_context,
    )


def _host_ms(host: HostOverhead | None, layers: int) -> float | None:
    return host.per_iteration_ms + host.per_layer_ms * layers if host else None


def _host_facts(host: HostOverhead | None) -> HostFacts | str:
    if host is None:
        return HOST_NOT_MODELLED
    said = host.provenance
    source = " ".join(filter(None, (said.origin, said.device, said.framework, said.version, said.source)))
    return HostFacts(per_iteration_ms=host.per_iteration_ms, per_layer_ms=host.per_layer_ms, source=source)


def _bound_by(limit: Bound | None) -> str:
    if limit is None:
        return "unknown"
    return "compute" if limit.compute_ms > limit.memory_ms else "memory"


def _all_flags(ops: Sequence[OpRow]) -> list[str]:
    seen = {name for row in ops for name in row.coverage}
    return [name for name in coverage.NAMES.values() if name in seen]


def _tpot_note(batch: Batch) -> str:
    if len(batch.rows.q_len):
        return ""
    return (
        "TPOT here is (latency - TTFT) / (output tokens - 1). A steady batch of "
        f"{len(batch.rows.kv_len)} requests at these lengths has this iteration's time as TPOT; prefill "
        "iterations in between come on top."
    )


def _missing_rows(missing: MissingKernel, command: str) -> MissingRows:
    return MissingRows(
        kind=missing.kind,
        backend=missing.backend,
        device=missing.device,
        count=len(missing.specs),
        ops=list(missing.ops),
        specs=missing.sweeps(),
        command=command,
    )


def _unpriced(options: PredictOptions) -> list[Unpriced]:
    there = [each for each in options.stack.unpriced if options.tp >= each.from_tp]
    return [Unpriced(name=each.name, reason=each.reason) for each in there]
