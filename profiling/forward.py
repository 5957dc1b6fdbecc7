"""Timing a real Transformers model on this machine's CPU: what predictions are set beside."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from profiling.timers.samples import Sample, judged
from profiling.worker_process import WorkerError, WorkerProcess
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from profiling import protocol
    from profiling.forward_case import ForwardCase
    from profiling.forward_model import TorchDtype
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
        answer = self._ask({"op": "run", "case": asdict(case), "samples": samples}, RUN_TIMEOUT_S)
        return judged([Sample(**sample) for sample in answer["samples"]])

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
