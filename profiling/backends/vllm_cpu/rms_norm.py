"""`rms_norm` with vLLM's `RMSNorm` and the residual that its decoder layers fold into it."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.backends.vllm_cpu._warm import warmed
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting

EPSILON = 1e-5


def prepare(setting: Setting, *, num_tokens: int, hidden_size: int, dtype: Dtype) -> Launch:
    """Rotate rows and residuals; the weight is one, as in a layer."""
    size = num_tokens * hidden_size * dtype_bytes(dtype)
    count = rotation.copies(setting, operand_bytes=2 * size, result_bytes=6 * size)
    tensors = Tensors.on(setting, dtype)
    configs = importlib.import_module("vllm.config")
    norms = importlib.import_module("vllm.model_executor.layers.layernorm")
    with configs.set_current_vllm_config(configs.VllmConfig()):
        norm = norms.RMSNorm(hidden_size, eps=EPSILON).to(tensors.dtype)
    rows, residuals = (tensors.copies(count, num_tokens, hidden_size) for _ in range(2))
    return warmed(tensors, [partial(norm, *each) for each in zip(rows, residuals, strict=True)])


BACKEND = Backend(
    name="vllm_cpu",
    kind="rms_norm",
    devices=("cpu",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "vllm"),
)
