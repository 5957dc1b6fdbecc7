"""The worker that runs whole models, `python -m profiling.forward_worker`: one at a time, timed by steps."""

from __future__ import annotations

import gc
from dataclasses import asdict
from typing import TYPE_CHECKING

from profiling import worker
from profiling.contract import Setting
from profiling.forward_case import ForwardCase
from profiling.forward_kernels import HeldKernels
from profiling.forward_model import ForwardModel

if TYPE_CHECKING:
    from profiling import protocol


NO_MODEL = {"ok": False, "reason": "no model is loaded", "usable": True}


class ForwardOperations:
    """What the worker can do, with the model that it holds."""

    def __init__(self) -> None:
        self._model: ForwardModel | None = None
        self._kernels: HeldKernels | None = None

    def load(self, request: protocol.Message) -> protocol.Message:
        """Build the model of a config, in place of the one before."""
        import torch  # noqa: PLC0415 - only ever in a worker process
        import transformers  # noqa: PLC0415

        torch.set_num_threads(request["threads"])
        self._model = None
        self._model = ForwardModel(request["config"], request["dtype"], "cpu")
        return {"libraries": {"torch": torch.__version__, "transformers": transformers.__version__}}

    def run(self, request: protocol.Message) -> protocol.Message:
        """Time steps of a case."""
        if self._model is None:
            return NO_MODEL
        samples = self._model.run(ForwardCase(**request["case"]), request["samples"])
        return {"samples": [asdict(sample) for sample in samples]}

    def divide(self, request: protocol.Message) -> protocol.Message:
        """Time steps of a case with the parts of the model apart."""
        if self._model is None:
            return NO_MODEL
        step = self._model.divide(ForwardCase(**request["case"]), request["samples"])
        return asdict(step)

    def hold(self, request: protocol.Message) -> protocol.Message:
        """Prepare kernels, in place of those before; they stay ready beside the model."""
        import torch  # noqa: PLC0415 - only ever in a worker process

        self._kernels = None
        gc.collect()
        self._kernels = HeldKernels(torch, Setting(**request["setting"]), request["walks"])
        return {"held": len(self._kernels)}

    def sample(self, request: protocol.Message) -> protocol.Message:
        """Time every kernel that is held."""
        if self._kernels is None:
            return {"ok": False, "reason": "no kernels are held", "usable": True}
        found = self._kernels.sample(request["samples"])
        return {"kernels": [[asdict(sample) for sample in samples] for samples in found]}


def main() -> None:
    """Serve until the parent closes its end."""
    operations = ForwardOperations()
    worker.serve(
        {
            "load": operations.load,
            "run": operations.run,
            "divide": operations.divide,
            "hold": operations.hold,
            "sample": operations.sample,
        }
    )


if __name__ == "__main__":
    main()
