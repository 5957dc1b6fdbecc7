"""`single_gemm` with the linear layer that vLLM chooses for a weight on a CPU: oneDNN on packed weights, or its own."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.backends.vllm_cpu._warm import warmed
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, m: int, n: int, k: int, dtype: Dtype) -> Launch:
    """Rotate activations and packed weights together."""
    width = dtype_bytes(dtype)
    # A packed weight is a second one while it is packed.
    rotation.require(setting, 2 * n * k * width)
    count = rotation.copies(setting, operand_bytes=(m + n) * k * width, result_bytes=m * n * width)
    tensors = Tensors.on(setting, dtype)
    rows, weights = tensors.copies(count, m, k), tensors.copies(count, n, k)
    return warmed(tensors, [_linear(tensors, weight, x) for weight, x in zip(weights, rows, strict=True)])


def _linear(tensors: Tensors, weight: Tensor, rows: Tensor) -> partial[Any]:
    """A layer of its own for each copy: vLLM packs the weight when it loads the model."""
    layers = importlib.import_module("vllm.model_executor.layers.utils")
    nn = tensors.torch.nn
    layer = nn.Module()
    layer.weight = nn.Parameter(weight.clone(), requires_grad=False)
    layers.dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
    return partial(layer.cpu_linear, rows, layer.weight, None)


BACKEND = Backend(
    name="vllm_cpu",
    kind="single_gemm",
    devices=("cpu",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "vllm"),
)
