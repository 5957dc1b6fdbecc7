"""`fused_moe` with the function that Transformers 5 runs experts with on every device: `grouped_mm_experts_forward`.

Sort by expert, gather, one grouped product for gate and up, activation, one for down, weigh, put back in order, sum. On
a CPU the grouped product is torch's own, one product for each expert that is hit.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

from profiling.backends import rotation, routing
from profiling.backends.tensors import Tensors
from profiling.backends.transformers_function import function_of
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

MODULE = "transformers.integrations.moe"
FUNCTION = "grouped_mm_experts_forward"


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    num_tokens: int,
    hidden_size: int,
    inter_size: int,
    topk: int,
    num_experts: int,
    moe_tp_size: int,
    moe_ep_size: int,
    distribution: str,
    dtype: Dtype,
) -> Launch:
    """Rotate the weights of all experts, with a routing of its own for each call."""
    del moe_tp_size, moe_ep_size  # `supports` has seen that there is one rank
    width = dtype_bytes(dtype)
    count = rotation.copies(
        setting,
        operand_bytes=(3 * num_experts * inter_size + num_tokens) * hidden_size * width,
        result_bytes=num_tokens * topk * (3 * hidden_size + 3 * inter_size) * width,
    )
    tensors, run = Tensors.on(setting, dtype), function_of(MODULE, FUNCTION)
    tokens = tensors.copies(count, num_tokens, hidden_size)
    layers = [
        _experts(tensors, gate_up, down)
        for gate_up, down in zip(
            tensors.copies(count, num_experts, 2 * inter_size, hidden_size),
            tensors.copies(count, num_experts, hidden_size, inter_size),
            strict=True,
        )
    ]

    def call(index: int) -> Callable[[], Any]:
        batch = routing.route(num_tokens, topk, num_experts, 1, distribution, seed=index)
        with tensors.torch.inference_mode():
            chosen = tensors.torch.from_numpy(batch.experts).to(tensors.device).view(num_tokens, topk)
            weights = tensors.torch.rand(num_tokens, topk, device=tensors.device).to(tensors.dtype)
        return partial(run, layers[index % count], tokens[index % count], chosen, weights)

    return tensors.launch(call(index) for index in range(max(count, routing.BATCHES)))


def supports(*, moe_tp_size: int, moe_ep_size: int, distribution: str, **_sizes: int | str) -> str:
    """One rank, and a distribution that can be drawn."""
    if moe_tp_size > 1 or moe_ep_size > 1:
        return f"the backend has all experts on one rank, asked for tp {moe_tp_size} and ep {moe_ep_size}"
    return routing.refusal(distribution)


def _experts(tensors: Tensors, gate_up: Tensor, down: Tensor) -> SimpleNamespace:
    """What the function reads of a layer's module."""
    silu = tensors.torch.nn.functional.silu

    def gated(both: Tensor) -> Tensor:
        gate, up = both.chunk(2, dim=-1)
        return silu(gate) * up

    return SimpleNamespace(
        num_experts=len(gate_up),
        gate_up_proj=gate_up,
        down_proj=down,
        has_gate=True,
        has_bias=False,
        has_post_expert_norm=False,
        is_transposed=False,
        _is_expert_parallel=False,
        _apply_gate=gated,
    )


BACKEND = Backend(
    name="transformers",
    kind="fused_moe",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch", "transformers"),
    supports=supports,
)
