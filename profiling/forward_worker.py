"""The worker that runs whole models, `python -m profiling.forward_worker`: one at a time, timed by steps."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from profiling import worker
from profiling.forward_case import ForwardCase
from profiling.forward_model import ForwardModel

if TYPE_CHECKING:
    from profiling import protocol


class ForwardOperations:
    """What the worker can do, with the model that it holds."""

    def __init__(self) -> None:
        self._model: ForwardModel | None = None

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
            return {"ok": False, "reason": "no model is loaded", "usable": True}
        samples = self._model.run(ForwardCase(**request["case"]), request["samples"])
        return {"samples": [asdict(sample) for sample in samples]}


def main() -> None:
    """Serve until the parent closes its end."""
    operations = ForwardOperations()
    worker.serve({"load": operations.load, "run": operations.run})


if __name__ == "__main__":
    main()
