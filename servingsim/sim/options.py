"""What is predicted, beside the model and the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.kv import DEFAULT_UTILISATION, check_utilisation

if TYPE_CHECKING:
    from servingsim.sim.validated import ValidatedRecord
    from servingsim.timing.contract import Dtype
    from servingsim.timing.coverage import OnMissing
    from servingsim.worklets.stack import Stack


@dataclass(frozen=True)
class PredictOptions:
    """Device, stack, parallelism and limits.

    Attributes:
        device: Device key.
        stack: Serving stack.
        tp: Tensor-parallel ranks.
        stack_version: Version of the stack whose imported rows are used; None where there is at most one.
        kv_dtype: Of the KV cache; None: the model's dtype.
        max_num_tokens: New tokens of an iteration; None: just enough for the batch. So are the next two.
        max_num_seqs: Requests of an iteration.
        max_model_len: Tokens of the longest request.
        on_missing: What a kernel without any row does.
        utilisation: Share of the device's memory that is used.
        validated: Records of validated errors; None: those of the package.
        validated_error: Error against measured iterations where somebody knows it; None: as the package's records say.
    """

    device: str
    stack: Stack
    tp: int = 1
    stack_version: str | None = None
    kv_dtype: Dtype | None = None
    max_num_tokens: int | None = None
    max_num_seqs: int | None = None
    max_model_len: int | None = None
    on_missing: OnMissing = "estimate"
    utilisation: float = DEFAULT_UTILISATION
    validated_error: str | None = None
    validated: tuple[ValidatedRecord, ...] | None = None

    def __post_init__(self) -> None:
        check_utilisation(self.utilisation)
