"""Operands on the device of a setting. The one place where the backends of compute kinds import torch."""

from __future__ import annotations

import importlib
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.backends import streaming
from profiling.contract import Launch
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

    from torch import Tensor

    from profiling.contract import Dtype, Setting

TORCH_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp8": "float8_e4m3fn"}
NOISE_ELEMENTS = 2**20
"""Values are drawn for so many elements and repeated: drawing a gigabyte takes longer than timing it."""
SEED = 20260101


@dataclass(frozen=True)
class Tensors:
    """Makes operands of one dtype on one device.

    Attributes:
        torch: The module.
        setting: Where they are.
        dtype: Torch's dtype of them.
    """

    torch: ModuleType
    setting: Setting
    dtype: Any

    @property
    def device(self) -> str:
        """The device as torch calls it."""
        return self.setting.device_type

    @classmethod
    def on(cls, setting: Setting, dtype: Dtype) -> Tensors:
        """Import torch for a setting; on a CPU pin its threads to the number that the device key names.

        Raises:
            ServingSimError: E_NO_GPU, when the setting is a CUDA device and torch sees none.
        """
        torch = importlib.import_module("torch")
        if setting.device_type == "cuda" and not torch.cuda.is_available():
            raise no_gpu()
        if setting.device_type == "cpu":
            torch.set_num_threads(setting.threads)
        return cls(torch, setting, getattr(torch, TORCH_NAMES[dtype]))

    def copies(self, count: int, *shape: int) -> tuple[Tensor, ...]:
        """So many tensors of a shape, standard normal, one after the other in memory."""
        return tuple(self.normal(count, *shape).unbind(0))

    def normal(self, *shape: int) -> Tensor:
        """One tensor of normal numbers.

        They matter: zeros draw less power on a GPU, and so run faster than real activations.
        """
        torch = self.torch
        with torch.inference_mode():
            tensor = torch.empty(shape, dtype=self.dtype, device=self.device)
            flat = tensor.view(-1)
            source = torch.Generator(self.device).manual_seed(SEED)
            size = min(NOISE_ELEMENTS, flat.numel())
            noise = torch.randn(size, generator=source, device=self.device).to(self.dtype)
            for start in range(0, flat.numel(), NOISE_ELEMENTS):
                part = flat[start : start + NOISE_ELEMENTS]
                part.copy_(noise[: part.numel()])
        return tensor

    def launch(self, calls: Iterable[Callable[[], Any]]) -> Launch:
        """The calls in an order that no prefetcher can walk from one copy into the next.

        On the CPU other weights stream through the caches in between; on CUDA the timer displaces its cache.
        """
        shuffled = list(calls)
        random.Random(SEED).shuffle(shuffled)  # noqa: S311 - an order, not a secret
        return Launch(
            calls=tuple(shuffled),
            scope=self.torch.inference_mode,
            between=streaming.weights(self.torch, self.setting) if self.device == "cpu" else None,
        )


def no_gpu() -> ServingSimError:
    """The refusal where a CUDA device is asked for and there is none."""
    return ServingSimError(
        "no CUDA device can be used from this process",
        code="E_NO_GPU",
        hint="use a machine with an NVIDIA GPU, a driver and a CUDA build of torch, or a CPU device",
    )
