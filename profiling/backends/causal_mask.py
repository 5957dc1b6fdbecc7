"""The explicit mask of attention whose queries are the last of its keys."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from profiling.backends.tensors import Tensors


def seen(tensors: Tensors, q_len: int, keys: int, window_size: int = 0) -> Tensor:
    """True where a query may look: at keys up to its own, and no farther back than the window.

    On CUDA without a window, and not in fp32, the corner is named instead: flash kernels know it.
    """
    torch = tensors.torch
    windowed = 0 < window_size < keys
    if tensors.device == "cuda" and not windowed and tensors.dtype != torch.float32:
        return importlib.import_module("torch.nn.attention.bias").causal_lower_right(q_len, keys)
    with torch.inference_mode():
        own = torch.arange(keys - q_len, keys, device=tensors.device).unsqueeze(1)
        key = torch.arange(keys, device=tensors.device).unsqueeze(0)
        visible = (key <= own) & (key > own - window_size) if windowed else key <= own
        return visible.view(1, 1, q_len, keys)
