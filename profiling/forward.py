"""Timing a real Transformers model on this machine's CPU: what predictions are set beside."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from profiling.forward_model import DividedStep
from profiling.forward_spans import Span
from profiling.timers.samples import Sample, judged
from profiling.worker_process import WorkerError, WorkerProcess
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from profiling import protocol
    from profiling.contract import Setting
    from profiling.forward_case import ForwardCase
    from profiling.forward_model import TorchDtype
    from profiling.forward_walks import Walks
    from profiling.row import Timing

LOAD_TIMEOUT_S = 300.0
RUN_TIMEOUT_S = 600.0


class Forward:
    """A model of a config with random weights in a worker process of its own.

    Its threads and allocator are pinned as those of kernel measurements are.

    Args:
        config: A Hugging Face config.json, decoded.
        threads: CPU threads.
        dtype: Of weights and activations.

    Raises:
        ServingSimError: E_TOOLCHAIN, when the model cannot be built or the worker dies.
    """

    def __init__(self, config: Mapping[str, Any], threads: int, dtype: TorchDtype) -> None:
        self._name = str(config.get("model_type", "model"))
        try:
            self._worker = WorkerProcess(threads, "profiling.forward_worker")
        except WorkerError as fault:
            raise self._failed("cannot start", fault) from fault
        request = {"op": "load", "config": dict(config), "threads": threads, "dtype": dtype}
        self.libraries: dict[str, str] = self._ask(request, LOAD_TIMEOUT_S)["libraries"]

    def measure(self, case: ForwardCase, samples: int) -> Timing:
        """Time steps of a case; the statistics are those of kernel measurements.

        Raises:
            ServingSimError: E_TOOLCHAIN, when the step cannot run.
        """
        return judged(self.steps(case, samples))

    def steps(self, case: ForwardCase, samples: int) -> list[Sample]:
        """As `measure`, the samples themselves."""
        answer = self._ask({"op": "run", "case": asdict(case), "samples": samples}, RUN_TIMEOUT_S)
        return [Sample(**sample) for sample in answer["samples"]]

    def divide(self, case: ForwardCase, samples: int) -> DividedStep:
        """Time steps of a case with every part of the model apart.

        Raises:
            ServingSimError: E_TOOLCHAIN, when the step cannot run.
        """
        answer = self._ask({"op": "divide", "case": asdict(case), "samples": samples}, RUN_TIMEOUT_S)
        spans = {label: Span(**span) for label, span in answer["spans"].items()}
        return DividedStep([Sample(**each) for each in answer["samples"]], spans, answer["active_experts"])

    def hold(self, walks: Walks, setting: Setting) -> None:
        """Prepare kernels beside the model, in place of those before.

        Raises:
            ServingSimError: E_TOOLCHAIN, when one cannot be prepared.
        """
        self._ask({"op": "hold", "walks": asdict(walks), "setting": asdict(setting)}, RUN_TIMEOUT_S)

    def sample(self, samples: int) -> list[list[Sample]]:
        """So many samples of every kernel that is held, in their order.

        Raises:
            ServingSimError: E_TOOLCHAIN, when one cannot run.
        """
        answer = self._ask({"op": "sample", "samples": samples}, RUN_TIMEOUT_S)
        return [[Sample(**sample) for sample in found] for found in answer["kernels"]]

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: protocol.Message, timeout_s: float) -> protocol.Message:
        try:
            answer = self._worker.ask(request, timeout_s)
        except WorkerError as fault:
            self.close()
            raise self._failed("stopped", fault) from fault
        if not answer["ok"]:
            self.close()
            raise self._failed("refused", answer["reason"])
        return answer

    def _failed(self, what: str, reason: object) -> ServingSimError:
        return ServingSimError(
            f"the forward pass of {self._name} {what}: {reason}",
            code="E_TOOLCHAIN",
            hint="pip install 'servingsim[torch]', or free memory",
        )
