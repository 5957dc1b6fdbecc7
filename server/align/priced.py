"""An iteration log with its kernels priced: the model, the source of its times, and the capture where there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from server.align.captured import captured_model
from server.align.captured_source import captured_source
from server.align.log_kind import kind_of
from server.predict_model import model_of
from servingsim.archs.models import config_path
from servingsim.archs.stack_registry import stack_named
from servingsim.errors import ServingSimError
from servingsim.sim.evaluate import evaluate
from servingsim.sim.missing import MissingKernel, missing_kernels
from servingsim.sim.options import PredictOptions
from servingsim.sim.truth.iterations_price import kernels_ms
from servingsim.sim.truth.iterations_read import read_iterations
from servingsim.timing.batch import Batch
from servingsim.validation import parse
from skills.desk import Desk
from skills.split_model.schema import SplitRequest

if TYPE_CHECKING:
    from pathlib import Path

    from server.align.captured import CapturedModel
    from server.align.request import AlignRequest
    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.ops.pricing import SlotLog
    from servingsim.sim.truth.iterations import IterationLog
    from servingsim.timing.source import FloatArray, TimingSource

SPLIT_AS = {"vllm_cpu": "vllm"}
"""Stacks that launch what another one launches, whose table a capture is laid along."""


@dataclass(frozen=True)
class Priced:
    """The log with its kernels priced.

    Attributes:
        log: What was measured.
        model: What is priced.
        source: Where kernel times come from.
        options: Device, stack and limits.
        captured: The capture, where there is one.
    """

    log: IterationLog
    model: DenseFacts | TableModel
    source: TimingSource
    options: PredictOptions
    captured: CapturedModel | None

    def kernels_ms(self) -> dict[str, FloatArray]:
        """Of each iteration, by run."""
        every = [each for run in self.log.runs for each in run.iterations]
        found = kernels_ms(every, self.model, self.source, self.options)
        ends = np.cumsum([len(run.iterations) for run in self.log.runs])
        parts = np.split(found, ends[:-1])
        return {run.name: part for run, part in zip(self.log.runs, parts, strict=True)}

    def disturbed(self) -> tuple[int, int]:
        """Rows behind the model's kernels whose samples were disturbed, and all of them."""
        tables = {
            (log.kernel.kind.kind, table.backend, str(log.kernel.config)): table
            for log in self._logs()
            for table in log.kernel.tables
        }
        return sum(each.untrusted for each in tables.values()), sum(
            each.rows + each.untrusted for each in tables.values()
        )

    def missing(self) -> tuple[MissingKernel, ...]:
        """Rows that iterations like the measured ones lack."""
        return missing_kernels(self._logs())

    def _logs(self) -> tuple[SlotLog, ...]:
        """Every kernel of the model within the limits of the log, asked once: by a prefill and by a decode."""
        every = [each for run in self.log.runs for each in run.iterations]
        longest = max(each.batch().longest_context for each in every)
        options = replace(
            self.options,
            max_num_tokens=self.options.max_num_tokens or max(each.num_tokens for each in every),
            max_num_seqs=self.options.max_num_seqs or max(each.num_requests for each in every),
            max_model_len=1 << (longest - 1).bit_length(),
        )
        return evaluate(self.model, Batch.of([(1, 0)], [1]), self.source, options).logs


def priced(request: AlignRequest, store: TimingSource | None) -> Priced:
    """Read log, model and capture.

    Raises:
        ServingSimError: A file is not what it has to be, the parts do not belong together, or nothing says what a
            kernel takes.
    """
    if (kind := kind_of(request.log)) != "iterations":
        raise ServingSimError(
            f"is no log of iterations but of {kind}",
            path=str(request.log),
            hint="`servingsim align` with the engine's arguments takes it",
        )
    log = read_iterations(request.log)
    path = config_path(request.model)
    model = model_of(
        path,
        stack=request.stack,
        tp=request.tp,
        ep=1,
        dtype=request.dtype,
        kv_dtype=request.kv_dtype,
        launches_apart=request.device is None,
    )
    captured = _captured(request, path, log)
    if request.device is not None and store is not None:
        source, device = store, request.device
    elif captured is not None:
        source, device = captured_source(captured.capture, captured.drafts, captured.times, captured.batches)
    else:
        raise ServingSimError(
            "nothing says what a kernel takes",
            known="--capture FILE: launches of a profile; --device KEY: rows of a store",
            hint="give one of the two; `servingsim capture record` makes a capture with its log",
        )
    options = PredictOptions(
        device=device,
        stack=stack_named(request.stack),
        tp=request.tp,
        stack_version=request.stack_version,
        kv_dtype=request.kv_dtype,
        on_missing="estimate-all",
        max_num_tokens=log.max_num_tokens or None,
        max_num_seqs=log.max_num_seqs or None,
    )
    return Priced(log, model, source, options, captured)


def _captured(request: AlignRequest, path: Path, log: IterationLog) -> CapturedModel | None:
    if request.capture is None:
        return None
    asked = {
        "model": str(path.resolve()),
        "stack": SPLIT_AS.get(request.stack, request.stack),
        "tp": request.tp,
        "dtype": request.dtype or "auto",
        "kv_dtype": request.kv_dtype or "auto",
    }
    split = parse(SplitRequest, asked, where="the model whose table the capture is laid along")
    return captured_model(
        request.capture, split, Desk.from_environment(roots=(str(path.resolve().parent),)), log
    )
