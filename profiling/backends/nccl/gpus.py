"""The GPUs that ranks of NCCL run on: one each."""

from __future__ import annotations

import importlib

from profiling.backends.tensors import no_gpu
from servingsim.errors import ServingSimError


def require(num_ranks: int) -> None:
    """Refuse more ranks than GPUs.

    Raises:
        ServingSimError: E_NO_GPU without any, E_LIMIT with too few.
    """
    cuda = importlib.import_module("torch").cuda
    if not cuda.is_available():
        raise no_gpu()
    if num_ranks > cuda.device_count():
        raise ServingSimError(
            f"{num_ranks} ranks of NCCL need as many GPUs",
            code="E_LIMIT",
            known=f"{cuda.device_count()} can be used from this process",
            hint="measure on a machine with more GPUs, or import rows",
        )
